package executor

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// answerKey holds the answer among the arguments of the output tool when its schema is not that of an object.
const answerKey = "answer"

// outputTool is the tool by which the model gives its answer; nil when it has another way.
func outputTool(definition *agent.Definition, model agent.Model) *local.ToolSpec {
	if len(definition.OutputSchema) == 0 || model.StructuredOutput != agent.StructuredTool {
		return nil
	}
	parameters := definition.OutputSchema
	if !describesObject(parameters) {
		parameters = json.RawMessage(fmt.Sprintf(
			`{"type":"object","properties":{%q:%s},"required":[%q],"additionalProperties":false%s}`, answerKey, parameters, answerKey,
			sharedParts(parameters)))
	}
	return &local.ToolSpec{
		Name: agent.FinalAnswer, Parameters: parameters,
		Description: "Gives the final answer. Call it once, when everything else is done, and answer in no other way.",
	}
}

// sharedParts are the parts of a schema that its references point to, as further members of the one that it is put into:
// "#/$defs/…" begins at the root, and a provider refuses what leads nowhere.
func sharedParts(schema json.RawMessage) (members string) {
	var parts map[string]json.RawMessage
	if json.Unmarshal(schema, &parts) != nil {
		return "" // true or false
	}
	for _, name := range []string{"$defs", "definitions"} {
		if part, ok := parts[name]; ok {
			members += fmt.Sprintf(`,%q:%s`, name, part)
		}
	}
	return members
}

func describesObject(schema json.RawMessage) bool {
	var declared struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &declared) == nil && declared.Type == "object"
}

// answerCall is the call by which the response gives the answer; nil when there is none.
func (m *machine) answerCall(calls []execution.ToolCall) *execution.ToolCall {
	if !m.answersByTool() {
		return nil
	}
	for i := range calls {
		if calls[i].Name == agent.FinalAnswer {
			return &calls[i]
		}
	}
	return nil
}

// answersByTool reports whether the answer may come as a tool call.
func (m *machine) answersByTool() bool {
	return len(m.definition.OutputSchema) > 0 && m.definition.Model.UsesOutputTool()
}

// finalAnswer ends the run with an answer that fits, or sends a misfit back with the error. The calls beside it are not
// run: each is answered so, for no history may hold a call without an answer.
func (m *machine) finalAnswer(call execution.ToolCall, calls []execution.ToolCall) advance {
	output, err := m.schemas.output(m.definition.OutputSchema, string(answerOf(m.definition.OutputSchema, call.Arguments)))
	if err == nil {
		return m.complete(execution.Outcome{Answer: string(output), Output: output},
			besides(calls, call, execution.TextResult(call, "The answer was taken."))...)
	}
	misfit := execution.ErrorResult(call, execution.ToolInvalidArguments, fmt.Sprintf(
		"The answer does not fit the required schema: %v\nPlease call %s again with an answer that fits.", err, agent.FinalAnswer))
	results := besides(calls, call, misfit)
	if m.state.OutputRetriesUsed >= m.definition.OutputRetries {
		return m.failWith(execution.CodeOutputRetryLimit, fmt.Sprintf("the answer does not fit its schema: %v", err), results)
	}
	m.state.OutputRetriesUsed++
	m.state.Response = nil
	return m.nextTurn(results...)
}

// answerOf is the answer among the arguments of the output tool.
func answerOf(schema, arguments json.RawMessage) json.RawMessage {
	if describesObject(schema) {
		return arguments
	}
	var wrapped map[string]json.RawMessage
	if json.Unmarshal(arguments, &wrapped) != nil || wrapped[answerKey] == nil {
		return arguments // it does not fit, and the error says why
	}
	return wrapped[answerKey]
}

// besides are the results of all calls when one of them gave the answer.
func besides(calls []execution.ToolCall, answer execution.ToolCall, result execution.ToolResult) []execution.Message {
	messages := make([]execution.Message, len(calls))
	for i, call := range calls {
		if call.CallID == answer.CallID {
			messages[i] = resultMessage(result)
			continue
		}
		messages[i] = resultMessage(execution.ErrorResult(call, execution.ToolExecution,
			"This call was not run: "+agent.FinalAnswer+" was called beside it."))
	}
	return messages
}
