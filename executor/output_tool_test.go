package executor

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

const citySchema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`

// answering is a response that calls the tools; final_answer is called with the arguments.
func answering(arguments string, names ...string) local.ModelResponse {
	response := calling(names...)
	for i := range response.ToolCalls {
		if response.ToolCalls[i].Name == agent.FinalAnswer {
			response.ToolCalls[i].Arguments = json.RawMessage(arguments)
		}
	}
	return response
}

func answersByTool(schema string) *agent.Definition {
	return &agent.Definition{
		Model:        agent.Model{Provider: "scripted", StructuredOutput: agent.StructuredTool},
		OutputSchema: json.RawMessage(schema), OutputRetries: 1,
	}
}

// Contract A, model_response: an output-function call that fits ends the run without validate_output.
func TestTheOutputToolEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent local.ModelRequest
		model := script(answering(`{ "city": "Oslo" }`, agent.FinalAnswer))
		kit := &local.Kit{Model: noting(&sent, model)}
		w := newWorld(t, answersByTool(citySchema), kit, nil)
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Equal(t, &execution.Outcome{Answer: `{"city":"Oslo"}`, Output: json.RawMessage(`{"city":"Oslo"}`)}, row.Outcome)
		require.NotContains(t, w.nodes(), ValidateOutput)
		require.NotContains(t, w.nodes(), ToolCall)
		require.Empty(t, sent.OutputSchema, "the schema is the tool's")
		require.Equal(t, agent.FinalAnswer, sent.Tools[0].Name)
		require.JSONEq(t, citySchema, string(sent.Tools[0].Parameters))
		require.Equal(t, w.history(), repair(w.history()), "no call is left without an answer")
	})
}

// Contract A, model_response: an output function that asks for a retry goes back to prepare_model_request, until the
// retries are used up; calls beside it are answered as not run.
func TestTheOutputToolAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lookup := tool("lookup", "", says("must not run"))
		kit := &local.Kit{
			Tools: []local.Tool{lookup},
			Model: script(answering(`{"town":"Oslo"}`, "lookup", agent.FinalAnswer), answering(`{"city":"Oslo"}`, agent.FinalAnswer, "lookup")),
		}
		w := newWorld(t, answersByTool(citySchema), kit, nil)
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Zero(t, row.Usage.ToolCalls)
		history := w.history()
		require.Equal(t, history, repair(history))
		require.Contains(t, string(history[2].ToolResult.Content), "not run")
		require.Equal(t, execution.ToolInvalidArguments, history[3].ToolResult.ErrorKind)
		require.Contains(t, string(history[3].ToolResult.Content), "call final_answer again")

		kit.Model = script(answering(`{"town":"Oslo"}`, agent.FinalAnswer))
		w = newWorld(t, answersByTool(citySchema), kit, nil)
		row = w.drive()
		require.Equal(t, execution.CodeOutputRetryLimit, row.Failure.Code)
		require.Equal(t, int64(2), row.Usage.Requests)
		require.Equal(t, w.history(), repair(w.history()))
	})
}

// A schema that describes no object is put into one, because a tool's arguments are an object.
func TestTheOutputToolTakesAnySchema(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: script(answering(`{"answer":"5"}`, agent.FinalAnswer), answering(`{"answer":5}`, agent.FinalAnswer))}
		w := newWorld(t, answersByTool(`{"type":"integer"}`), kit, nil)
		row := w.drive()
		require.Equal(t, "5", row.Outcome.Answer)
		require.Equal(t, json.RawMessage("5"), row.Outcome.Output)
	})
}

// A model that answers in words although it should call is told how to, and other tools run as ever.
func TestTheOutputToolBesideOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{
			Tools: []local.Tool{tool("lookup", "", says("sunny"))},
			Model: script(calling("lookup"), text("It is Oslo."), answering(`{"city":"Oslo"}`, agent.FinalAnswer)),
		}
		w := newWorld(t, answersByTool(citySchema), kit, nil)
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Equal(t, int64(1), row.Usage.ToolCalls)
		said := false
		for _, message := range w.history() {
			said = said || message.Role == execution.RoleUser && strings.Contains(message.Text, "Please call final_answer")
		}
		require.True(t, said)

		kit = &local.Kit{Model: script(calling("nobody"), answering(`{"city":"Oslo"}`, agent.FinalAnswer))}
		require.Equal(t, execution.Completed, newWorld(t, answersByTool(citySchema), kit, nil).drive().State,
			"an agent whose only tool is that of the answer survives a call of another one")
	})
}

// A schema that is no object's is put into one; what its references point to is where they point.
func TestReferencesOfAnAnswersSchemaLeadSomewhere(t *testing.T) {
	t.Parallel()
	for schema, fits := range map[string]string{
		`{"type":"array","items":{"$ref":"#/$defs/city"},"$defs":{"city":{"type":"string"}}}`:          `["Oslo"]`,
		`{"anyOf":[{"$ref":"#/definitions/n"}],"definitions":{"n":{"$ref":"#/definitions/m"},"m":{}}}`: `7`,
		`true`: `7`,
	} {
		tool := outputTool(&agent.Definition{OutputSchema: json.RawMessage(schema)}, agent.Model{StructuredOutput: agent.StructuredTool})
		require.NoError(t, newSchemas().fits(tool.Parameters, []byte(`{"answer":`+fits+`}`)), schema)
		require.Error(t, newSchemas().fits(tool.Parameters, []byte(`{"other":1}`)), schema)
	}
}
