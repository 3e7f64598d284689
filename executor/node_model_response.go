package executor

import (
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// afterModelResponse settles the limits and decides what the response asks for: tools, or the end.
func (m *machine) afterModelResponse() (advance, error) {
	if over := m.tokensOver(); over != "" {
		return m.limit(over, nil), nil
	}
	response := m.state.Response
	if response == nil {
		return advance{}, fmt.Errorf("%w: %s without a response", ErrCheckpoint, m.node)
	}
	if len(response.ToolCalls) == 0 {
		return m.next(ValidateOutput), nil
	}
	if answer := m.answerCall(response.ToolCalls); answer != nil {
		return m.finalAnswer(*answer, response.ToolCalls), nil
	}
	if len(m.kit.Tools) == 0 && !m.answersByTool() {
		return m.fail(execution.CodeNoTools, "the model asked for a tool, and the agent has none"), nil
	}
	if over := m.toolCallsOver(response.ToolCalls); over != "" {
		return m.limit(over, nil), nil
	}
	return m.planBatch(response.ToolCalls)
}

// planBatch writes the intent of every call before any of them runs.
func (m *machine) planBatch(calls []execution.ToolCall) (advance, error) {
	batch := &Batch{ID: fmt.Sprintf("tool_batch_%d", m.state.Turn)}
	m.state.Batch, m.state.Response = batch, nil
	a := advance{}
	for _, call := range calls {
		batch.Calls = append(batch.Calls, BatchCall{CallID: call.CallID, Name: call.Name, Status: CallOutstanding})
		plan, err := newPlan(m.id, call)
		if err != nil {
			return advance{}, err
		}
		a.plan = append(a.plan, plan)
		a.events = append(a.events, execution.ToolStarted{CallID: call.CallID, Name: call.Name})
	}
	next := m.next(ToolCall)
	next.plan, next.events = a.plan, a.events
	return next, nil
}
