package executor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// inputExpired is the type of the inbox entry that the store writes when an interaction expires unanswered.
const inputExpired execution.InputType = "expired"

// takeAnswers turns the reply to the open interaction into receipts, and approved calls into outstanding ones. It returns
// false when there is no reply yet.
func (m *machine) takeAnswers(ctx context.Context, entries map[execution.CallID]entry) (bool, error) {
	open := m.state.Batch.Asked
	input, found, err := m.reply(open.RequestID)
	if err != nil || !found {
		return false, err
	}
	decisions := map[execution.CallID]execution.Decision{}
	for _, decision := range input.Decisions {
		decisions[decision.CallID] = decision
	}
	for _, id := range open.Calls {
		status := m.state.Batch.call(id)
		if status == nil || status.Status != CallAsking || status.Question == nil {
			continue
		}
		if _, done := m.received[id]; done { // its receipt was written before a crash
			status.Status, status.Question = CallReturned, nil
			continue
		}
		result, decided := resolve(entries[id].intent.Call, status.Question, input, decisions[id])
		switch {
		case !decided: // a partial reply: the call is asked about again
		case result == nil:
			status.Status, status.Question = CallOutstanding, nil
		default:
			if err := m.receive(ctx, entries[id].intent.Call, *result); err != nil {
				return false, err
			}
		}
	}
	m.state.Batch.Asked, m.state.Status = nil, StatusRunning
	return true, nil
}

// reply finds the inbox entry of a request.
func (m *machine) reply(request execution.RequestID) (execution.Input, bool, error) {
	for _, entry := range m.inbox {
		if entry.RequestID != request {
			continue
		}
		var input execution.Input
		if err := json.Unmarshal(entry.Payload, &input); err != nil {
			return input, false, fmt.Errorf("%w: reply to %s: %w", ErrCheckpoint, request, err)
		}
		return input, true, nil
	}
	return execution.Input{}, false, nil
}

// resolve is what a reply means for one call. A decided call without a result is to be run (again).
func resolve(call execution.ToolCall, question *Question, input execution.Input, decision execution.Decision) (
	result *execution.ToolResult, decided bool,
) {
	unknown := question.Reason == execution.OutcomeUnknown
	switch {
	case input.Type == inputExpired:
		return refusal(call, unknown, "nobody answered in time"), true
	case input.Type == execution.ElicitationResponse && question.Kind != execution.Approval:
		text := execution.TextResult(call, input.Text)
		return &text, true
	case decision.Decision == execution.Approve && unknown:
		return nil, true
	case decision.Decision == execution.Approve:
		approved := normalize(call, execution.ToolResult{Content: json.RawMessage(`{"approved":true}`)})
		return &approved, true
	case decision.Decision == execution.Answer:
		answer := normalize(call, execution.ToolResult{Content: decision.Answer})
		return &answer, true
	case decision.Decision == execution.Reject:
		reason := decision.Reason
		if reason == "" {
			reason = "a person rejected this call"
		}
		return refusal(call, unknown, reason), true
	default:
		return nil, false
	}
}

func refusal(call execution.ToolCall, unknown bool, reason string) *execution.ToolResult {
	kind := execution.ToolRejected
	if unknown {
		kind, reason = execution.ToolOutcomeUnknown, "the outcome of this call is unknown; treat it as failed: "+reason
	}
	result := execution.ErrorResult(call, kind, reason)
	return &result
}
