package executor

import (
	"slices"

	"github.com/pawl-run/pawl/execution"
)

// unansweredText is the result of a call that never got one.
const unansweredText = "This call was never answered: the run ended before it returned."

// repair returns the transcript that is sent: the history in which every tool call is answered right behind the message
// that asked for it. Providers refuse anything else, for ever after. Results without a call are left out, and so is a
// second result of one call. The history itself is not changed.
func repair(history []execution.Message) []execution.Message {
	out := make([]execution.Message, 0, len(history))
	for i := 0; i < len(history); i++ {
		message := history[i]
		if message.Role == execution.RoleTool {
			continue // taken by its assistant message, or orphaned
		}
		out = append(out, message)
		if len(message.ToolCalls) > 0 {
			out = append(out, answers(message.ToolCalls, history[i+1:])...)
		}
	}
	return out
}

// answers finds the result of each call in what follows, up to the next assistant message: call ids repeat from one
// execution of a conversation to the next.
func answers(calls []execution.ToolCall, following []execution.Message) []execution.Message {
	found := map[execution.CallID]execution.Message{}
	for _, message := range following {
		if message.Role == execution.RoleAssistant {
			break
		}
		if message.Role != execution.RoleTool || message.ToolResult == nil {
			continue
		}
		if _, twice := found[message.ToolResult.CallID]; !twice {
			found[message.ToolResult.CallID] = message
		}
	}
	out := make([]execution.Message, len(calls))
	for i, call := range calls {
		message, ok := found[call.CallID]
		if !ok {
			message = resultMessage(unanswered(call))
		}
		out[i] = message
	}
	return out
}

// transcript is what a model is told of the history: repaired, and with the arguments that people gave in the place of the
// model's own, so that it reads what was done and not what it had asked for.
func transcript(history []execution.Message) []execution.Message {
	messages := repair(history)
	for i := range messages {
		if len(messages[i].ToolCalls) > 0 {
			messages[i].ToolCalls = asRun(messages[i].ToolCalls, messages[i+1:])
		}
	}
	return messages
}

// asRun are the calls with the arguments that their tools got; results follow in the calls' order.
func asRun(calls []execution.ToolCall, results []execution.Message) []execution.ToolCall {
	out := calls
	for i := range calls {
		if result := results[i].ToolResult; result.Arguments != nil {
			if &out[0] == &calls[0] {
				out = slices.Clone(calls) // the history is not ours
			}
			out[i].Arguments = result.Arguments
		}
	}
	return out
}

func resultMessage(result execution.ToolResult) execution.Message {
	return execution.Message{Role: execution.RoleTool, ToolResult: &result}
}
