package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// maxModelErrorRetries is how often the loop asks again after an answer it could not read, in one execution.
const maxModelErrorRetries = 2

// resumePrompt is what the model is told after such an answer.
const resumePrompt = "Your last answer could not be read. Please answer again."

// afterBeforeModelRequest sends the request and applies the response.
func (m *machine) afterBeforeModelRequest(ctx context.Context) (advance, error) {
	m.state.MessageCount = len(m.messages)
	tools, err := m.kit.Specs(ctx)
	if err != nil {
		return m.withoutTools(ctx, err)
	}
	m.chargeLost(tools)
	if over := m.noRoomForRequest(); over != "" {
		return m.limit(over, nil), nil
	}
	asked, park, err := m.choose(ctx)
	if err != nil {
		return advance{}, err
	}
	if park > 0 {
		return m.parkedUntil(m.failures(), park), nil
	}
	asked.request = m.modelRequest(asked.model, tools)
	if over := m.reserve(&asked); over != "" {
		return m.limit(over, nil), nil
	}
	return m.ask(ctx, asked)
}

// ask sends the request and takes what becomes of it.
func (m *machine) ask(ctx context.Context, asked asking) (advance, error) {
	if err := m.env.Sure(ctx); err != nil {
		return advance{}, err
	}
	response, err := m.env.Generate(ctx, m.kit.ModelAt(asked.failed), asked.request)
	m.charge(asked.model, response.Usage)
	if err != nil {
		if ctx.Err() != nil {
			return advance{state: m.state}, context.Cause(ctx)
		}
		m.env.Refused(laneOf(asked.model), err)
		return m.modelFailed(asked, err), nil
	}
	if over := m.cutBy(&asked, &response); over != "" {
		return m.cutOff(asked, response, over), nil
	}
	m.state.Prompt = nil
	if bounded(m.state.Limits) {
		m.state.Prompt = m.counted(&asked.request, nameOf(asked.model), &response)
	}
	return m.apply(asked, response), nil
}

// withoutTools is what follows when a server does not say which tools it has: the model is not asked, and nothing is
// charged.
func (m *machine) withoutTools(ctx context.Context, err error) (advance, error) {
	if ctx.Err() != nil {
		return advance{state: m.state}, context.Cause(ctx)
	}
	var classified *local.Error
	if errors.As(err, &classified) && classified.Kind == local.Permanent {
		return m.fail(classified.Code, classified.Message), nil
	}
	return m.retry(err), nil
}

// cutOff ends the run, or suspends it, with an answer that a limit cut off. It is kept in the history and is nobody's answer.
func (m *machine) cutOff(asked asking, response local.ModelResponse, over string) advance {
	completed := m.completed(asked.model, response)
	var said []execution.Message
	if response.Text != "" {
		said = append(said, execution.Message{Role: execution.RoleAssistant, Text: response.Text})
	}
	a := m.limit(over, said)
	if a.back == nil {
		a.events = append([]execution.Payload{completed}, a.events...)
	}
	return a
}

func (m *machine) modelRequest(model agent.Model, tools []local.ToolSpec) local.ModelRequest {
	request := local.ModelRequest{
		Attempt:      int(m.state.Usage.OwnRequests()),
		InvocationID: fmt.Sprintf("%s:%s:%s", m.id, m.state.InvocationID, m.invocation),
		Opened:       m.state.InvocationID,
		Instructions: m.definition.Instructions,
		Messages:     transcript(m.messages),
		OutputSchema: m.definition.OutputSchema,
		Tools:        tools,
	}
	if m.state.ModelFailures > 0 { // several attempts under one claim
		request.InvocationID += fmt.Sprintf(".%d", m.state.ModelFailures)
	}
	if m.state.Instructions != "" {
		request.Instructions = m.state.Instructions
	}
	if answer := outputTool(m.definition, model); answer != nil {
		request.Tools = append(request.Tools[:len(tools):len(tools)], *answer)
		request.OutputSchema = nil
	}
	return request
}

// maxToolName bounds a tool's name as a model gives it, which events and checkpoints repeat. No tool has a longer one.
const maxToolName = 256

// apply takes the response into the state and the history. Call ids are the loop's own.
func (m *machine) apply(asked asking, response local.ModelResponse) advance {
	turn := m.state.Turn
	calls := make([]execution.ToolCall, len(response.ToolCalls))
	for i, call := range response.ToolCalls {
		call.CallID, call.Arguments = execution.NewCallID(turn, i), asJSON(call.Arguments, `{}`)
		call.Name = call.Name[:prefix(call.Name, maxToolName)]
		calls[i] = call
	}
	if len(calls) == 0 {
		calls = nil
	}
	events := []execution.Payload{m.completed(asked.model, response)}
	if response.FinishReason == finishLength {
		events = append(events, execution.Warning{
			Code: warningAnswerCut, Message: nameOf(asked.model) + " cut its answer off: it reached the most that it may say",
		})
	}
	m.state.Turn++
	m.state.ModelFailures = 0
	m.state.Response = &Response{Text: response.Text, ToolCalls: calls, FinishReason: response.FinishReason}
	a := m.next(ModelResponse, execution.Message{
		Role: execution.RoleAssistant, Text: response.Text, ToolCalls: calls, Provider: response.Provider,
	})
	a.events = events
	return a
}

// completed is the event of a response; it is made before the turn is counted.
func (m *machine) completed(model agent.Model, response local.ModelResponse) execution.ModelCompleted {
	completed := execution.ModelCompleted{
		Turn: m.state.Turn, InvocationID: m.state.InvocationID, FinishReason: response.FinishReason, Model: model.Name,
	}
	if response.Usage != nil {
		completed.InputTokens, completed.OutputTokens = &response.Usage.InputTokens, &response.Usage.OutputTokens
	}
	return completed
}
