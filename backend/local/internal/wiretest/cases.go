package wiretest

import (
	"encoding/json"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// Case is a conversation that every provider's transcripts hold.
type Case struct {
	Name  string
	Say   string
	Turns []Turn
}

// Request is what every case asks with.
func Request() local.ModelRequest {
	return local.ModelRequest{
		InvocationID: "exec_1:inv_1:f1",
		Instructions: "You know the weather.",
		Tools: []local.ToolSpec{{
			Name: "weather", Description: "The weather of a city.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}},
	}
}

// Cases are a text, one tool, parallel tools, a tool's error, a rejected call and calls that a cancel left unanswered (as
// the executor repairs them), each with another turn behind it.
func Cases() []Case {
	type result = func(execution.ToolCall) execution.ToolResult
	value := func(content string) result {
		return func(call execution.ToolCall) execution.ToolResult {
			return execution.ToolResult{CallID: call.CallID, Name: call.Name, Content: json.RawMessage(content)}
		}
	}
	failed := func(kind execution.ToolErrorKind, text string) result {
		return func(call execution.ToolCall) execution.ToolResult { return execution.ErrorResult(call, kind, text) }
	}
	const never = "This call was never answered: the run ended before it returned."
	thanks := Turn{Say: "Thank you."}
	return []Case{
		{"text", "Hello!", []Turn{{Say: "And in French?"}}},
		{"one_tool", "How cold is it in Oslo?", []Turn{{Results: []result{value(`{"celsius":3}`)}}, thanks}},
		{"parallel_tools", "Oslo and Bergen?", []Turn{{Results: []result{value(`{"celsius":3}`), value(`"mild, 7"`)}}, thanks}},
		{"tool_error", "Oslo?", []Turn{{Results: []result{failed(execution.ToolExecution, "the station is down")}}, thanks}},
		{"rejected_call", "Oslo?", []Turn{{Results: []result{failed(execution.ToolRejected, "A person rejected the call: too dear.")}}, thanks}},
		{"canceled_call", "Oslo and Bergen?", []Turn{{
			Results: []result{value(`{"celsius":3}`), failed(execution.ToolOutcomeUnknown, never)}, Say: "What happened?",
		}}},
	}
}
