package executor

import (
	"context"
	"errors"
	"fmt"

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
	if over := m.noRoomForRequest(); over != "" {
		return m.limit(over, nil), nil
	}
	if err := m.env.Sure(ctx); err != nil {
		return advance{}, err
	}
	response, err := m.env.Generate(ctx, m.kit.Model, m.modelRequest())
	m.state.Usage = m.state.Usage.Add(charge(response.Usage))
	if err != nil {
		if ctx.Err() != nil {
			return advance{state: m.state}, context.Cause(ctx)
		}
		return m.modelFailed(err), nil
	}
	return m.apply(response), nil
}

func (m *machine) modelRequest() local.ModelRequest {
	request := local.ModelRequest{
		Attempt:      int(m.state.Usage.Requests),
		InvocationID: fmt.Sprintf("%s:%s:%s", m.id, m.state.InvocationID, m.invocation),
		Instructions: m.definition.Instructions,
		Messages:     transcript(m.messages),
		OutputSchema: m.definition.OutputSchema,
	}
	if m.state.Instructions != "" {
		request.Instructions = m.state.Instructions
	}
	for _, tool := range m.kit.Tools {
		request.Tools = append(request.Tools, tool.Spec())
	}
	return request
}

// charge is what a request costs: itself, and what the provider reported.
func charge(reported *execution.Usage) execution.Usage {
	if reported == nil {
		return execution.Usage{Requests: 1}
	}
	usage := *reported
	usage.Requests, usage.ToolCalls = 1, 0
	if usage.TotalTokens == 0 {
		usage.TotalTokens = usage.InputTokens + usage.OutputTokens
	}
	return usage
}

// modelFailed tells transient errors (tried again later, by the journal's attempts), unreadable answers (the model is
// asked again) and permanent errors apart.
func (m *machine) modelFailed(err error) advance {
	code, message := execution.CodeModelError, "the model request failed"
	var classified *local.Error
	if errors.As(err, &classified) {
		code, message = classified.Code, classified.Message
	}
	switch {
	case local.KindOf(err) != local.Permanent:
		return m.retry(err)
	case code == local.CodeMalformedResponse && m.state.ModelErrorRetriesUsed < maxModelErrorRetries:
		m.state.ModelErrorRetriesUsed++
		return m.nextTurn(execution.Message{Role: execution.RoleUser, Text: resumePrompt})
	default:
		return m.fail(code, message)
	}
}

// apply takes the response into the state and the history. Call ids are the loop's own.
func (m *machine) apply(response local.ModelResponse) advance {
	turn := m.state.Turn
	calls := make([]execution.ToolCall, len(response.ToolCalls))
	for i, call := range response.ToolCalls {
		call.CallID, call.Arguments = execution.NewCallID(turn, i), asJSON(call.Arguments, `{}`)
		calls[i] = call
	}
	if len(calls) == 0 {
		calls = nil
	}
	m.state.Turn++
	m.state.Response = &Response{Text: response.Text, ToolCalls: calls, FinishReason: response.FinishReason}
	completed := execution.ModelCompleted{
		Turn: turn, InvocationID: m.state.InvocationID, FinishReason: response.FinishReason,
	}
	if response.Usage != nil {
		completed.InputTokens, completed.OutputTokens = &response.Usage.InputTokens, &response.Usage.OutputTokens
	}
	a := m.next(ModelResponse, execution.Message{Role: execution.RoleAssistant, Text: response.Text, ToolCalls: calls})
	a.events = []execution.Payload{completed}
	return a
}
