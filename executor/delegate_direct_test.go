package executor

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// kitsOf builds the kit of an agent by its name.
type kitsOf map[string]*local.Kit

func (k kitsOf) Build(_ context.Context, d *agent.Definition) (*local.Kit, error) {
	if kit, ok := k[d.Name]; ok {
		return kit, nil
	}
	return nil, errors.New("no kit")
}

// inside is a tool that runs an agent in the process of its caller, as the delegate's does.
func inside(name, called string, mode agent.DelegateMode, direct func() *Direct) *fakeTool {
	return agentTool(name, called, mode, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		prompt, err := local.Prompt(call.Call.Arguments)
		if err != nil {
			return local.Answer{}, err
		}
		id := execution.ChildID(call.Execution, call.Call.CallID)
		ran, usage, err := direct().RunDelegate(ctx, id, prompt, *call.Grant)
		if err != nil {
			return local.Answer{Usage: usage}, err
		}
		answer := backend.AnswerOfDelegate(call.Call.CallID, ran)
		result := execution.TextResult(call.Call, answer.Text)
		if answer.IsError || answer.Ticket != nil {
			result = execution.ErrorResult(call.Call, execution.ToolExecution, answer.Text)
		}
		return local.Answer{Result: &result, Usage: usage}, nil
	})
}

// asksFor is an answer that calls tools with a prompt.
func asksFor(names ...string) local.ModelResponse {
	response := calling(names...)
	for i := range response.ToolCalls {
		response.ToolCalls[i].Arguments = json.RawMessage(`{"prompt":"look"}`)
	}
	return response
}

func runTree(t *testing.T, kits kitsOf, limits execution.Limits) Result {
	t.Helper()
	definitions := make([]*agent.Definition, 0, len(kits))
	for name := range kits {
		definitions = append(definitions, &agent.Definition{Name: name, OutputRetries: 1})
	}
	direct, err := NewDirect(DirectConfig{Builder: kits, Agents: finding(definitions...)})
	require.NoError(t, err)
	for _, kit := range kits {
		for _, tool := range kit.Tools {
			if fake, ok := tool.(*fakeTool); ok && fake.spec.Delegate != nil && fake.call == nil {
				*fake = *inside(fake.spec.Name, fake.spec.Delegate.Agent, fake.spec.Delegate.Mode, func() *Direct { return direct })
			}
		}
	}
	result, err := direct.Run(t.Context(), testID, &agent.Definition{Name: "lead", Limits: limits}, execution.CreateRequest{
		Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"},
	})
	require.NoError(t, err)
	return result
}

func toolTexts(t *testing.T, result Result) (texts []string) {
	t.Helper()
	for _, message := range result.Messages {
		if message.ToolResult != nil {
			texts = append(texts, contentOf(t, *message.ToolResult))
		}
	}
	return texts
}

func TestDirectRunsAgentsInsideCalls(t *testing.T) {
	t.Parallel()
	result := runTree(t, kitsOf{
		"lead": {Model: script(asksFor("research", "research"), text("done")), Tools: []local.Tool{
			agentTool("research", "researcher", agent.Ephemeral, nil),
		}},
		"researcher": {Model: script(asksFor("check"), text("found")), Tools: []local.Tool{
			agentTool("check", "checker", agent.Durable, nil), // where nothing is durable it runs inside the call
		}},
		"checker": {Model: script(text("right"))},
	}, execution.Limits{})
	require.Equal(t, &execution.Outcome{Answer: "done"}, result.Outcome)
	require.Equal(t, []string{"found", "found"}, toolTexts(t, result))
	require.Equal(t, execution.Usage{Requests: 8, ToolCalls: 4, DelegatedRequests: 6}, result.Checkpoint.State.Usage)
}

func TestDirectBoundsHowDeepAgentsCallEachOther(t *testing.T) {
	t.Parallel()
	kit := &local.Kit{Model: script(asksFor("again"), text("done")), Tools: []local.Tool{agentTool("again", "lead", agent.Ephemeral, nil)}}
	result := runTree(t, kitsOf{"lead": kit}, execution.Limits{})
	require.Equal(t, &execution.Outcome{Answer: "done"}, result.Outcome)
	require.Equal(t, int64(2*(DefaultMaxDepth+1)), result.Checkpoint.State.Usage.Requests)
}

func TestDirectKeepsATreeWithinTheLimitsOfItsRoot(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{1, 2, 3, 5, 8, 13, 21} {
		kit := &local.Kit{Model: script(asksFor("again", "again"), text("done")), Tools: []local.Tool{agentTool("again", "lead", agent.Ephemeral, nil)}}
		result := runTree(t, kitsOf{"lead": kit}, execution.Limits{MaxModelRequests: limit})
		require.LessOrEqual(t, result.Checkpoint.State.Usage.Requests, limit)
	}
}

func TestDirectHasNobodyToAnswerADelegate(t *testing.T) {
	t.Parallel()
	result := runTree(t, kitsOf{
		"lead": {Model: script(asksFor("research"), text("done")), Tools: []local.Tool{
			agentTool("research", "researcher", agent.Ephemeral, nil),
		}},
		"researcher": {Model: script(calling("ask")), Tools: []local.Tool{
			tool("ask", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "Which?"})),
		}},
	}, execution.Limits{})
	require.Equal(t, []string{"waiting_input: Which?"}, toolTexts(t, result))
	require.Equal(t, &execution.Outcome{Answer: "done"}, result.Outcome)
}

func TestDirectLeadsARemoteDelegate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := turns(working("t1"), done("Booked.", "t1"))
		direct, err := NewDirect(DirectConfig{Builder: kits{}, Remotes: remotes{carrier: p}})
		require.NoError(t, err)
		ran, _, err := direct.RunDelegate(t.Context(), testID, "Oslo", local.Grant{Definition: farAway(), Depth: 1})
		require.NoError(t, err)
		require.Equal(t, backend.StatusCompleted, ran.Status.Kind)
		require.Equal(t, "Booked.", *ran.Response)
		require.Empty(t, p.aborts())
	})
}
