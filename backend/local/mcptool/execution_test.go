package mcptool_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/scripted"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
)

const executionID = execution.ID("exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV")

// told is a scripted model that notes the tools it was told of.
type told struct {
	local.Model
	tools []string
}

func (m *told) Generate(ctx context.Context, request local.ModelRequest, sink local.Sink) (local.ModelResponse, error) {
	m.tools = m.tools[:0]
	for _, spec := range request.Tools {
		m.tools = append(m.tools, spec.Name)
	}
	return m.Model.Generate(ctx, request, sink)
}

// run runs an agent with the tools of declared and the given calls, and then says done.
func run(t *testing.T, declared agent.Tool, calls ...agent.ScriptedToolCall) (executor.Result, []string) {
	t.Helper()
	servers := newServers(t, quick())
	model := &told{}
	kits, err := local.NewBuilder(local.BuilderConfig{
		Models: map[string]local.ModelFactory{
			"scripted": func(ctx context.Context, d *agent.Definition, lookup local.Lookup) (local.Model, error) {
				made, err := scripted.Factory(ctx, d, lookup)
				model.Model = made
				return model, err
			},
		},
		Tools:  map[agent.ToolType]local.ToolFactory{agent.ToolMCP: servers.Factory},
		Lookup: lookup,
	})
	require.NoError(t, err)
	direct, err := executor.NewDirect(executor.DirectConfig{Builder: kits})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := direct.Run(ctx, executionID, &agent.Definition{
		Name:  "demo",
		Tools: []agent.Tool{declared},
		Model: agent.Model{Provider: "scripted", Turns: []agent.ScriptedTurn{{ToolCalls: calls}, {Text: "done"}}},
	}, execution.CreateRequest{Input: execution.Input{Type: execution.UserMessage, Text: "go"}})
	require.NoError(t, err)
	return result, model.tools
}

func results(t *testing.T, result executor.Result) []execution.ToolResult {
	t.Helper()
	var all []execution.ToolResult
	for _, message := range result.Messages {
		if message.ToolResult != nil {
			all = append(all, *message.ToolResult)
		}
	}
	return all
}

func TestAWholeExecution(t *testing.T) {
	t.Parallel()
	for name, declared := range transports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			declared.Allow = []string{"echo", "meta", "fail"}
			result, tools := run(t, declared,
				agent.ScriptedToolCall{Name: "s_echo", Arguments: json.RawMessage(`{"city":"Oslo"}`)},
				agent.ScriptedToolCall{Name: "s_meta", Arguments: json.RawMessage(`{}`)},
				agent.ScriptedToolCall{Name: "s_fail", Arguments: json.RawMessage(`{}`)},
				agent.ScriptedToolCall{Name: "s_rich", Arguments: json.RawMessage(`{}`)},
				agent.ScriptedToolCall{Name: "s", Arguments: json.RawMessage(`{}`)},
			)
			require.Equal(t, &execution.Outcome{Answer: "done"}, result.Outcome)
			require.ElementsMatch(t, []string{"s_echo", "s_meta", "s_fail"}, tools)
			got := results(t, result)
			require.Len(t, got, 5)
			require.Equal(t, `"{\"city\":\"Oslo\"}"`, string(got[0].Content))
			require.Equal(t, `"`+string(executionID)+`:call_0_1"`, string(got[1].Content))
			require.True(t, got[2].IsError)
			require.Equal(t, execution.ToolNotFound, got[3].ErrorKind, "not allowed")
			require.Equal(t, execution.ToolNotFound, got[4].ErrorKind, "a set is no tool")
		})
	}
}

func TestAnExecutionWhoseServerDiesInAnUnsafeCallAsksAPerson(t *testing.T) {
	t.Parallel()
	result, _ := run(t, stdio("plain", nil), agent.ScriptedToolCall{Name: "s_die", Arguments: json.RawMessage(`{}`)})
	require.Nil(t, result.Outcome)
	require.NotNil(t, result.Interaction)
	require.Equal(t, execution.Approval, result.Interaction.Kind)
	require.Equal(t, "outcome_unknown", string(result.Interaction.Reason))
}

func TestAnExecutionWhoseServerLacksAnAllowedToolFailsByItsName(t *testing.T) {
	t.Parallel()
	declared := overHTTP(newFake("plain").http(t, nil))
	declared.Allow = []string{"ecko"}
	result, _ := run(t, declared)
	require.NotNil(t, result.Failure)
	require.Equal(t, "mcp_unknown_tool", string(result.Failure.Code))
	require.Contains(t, result.Failure.Message, "ecko")
}
