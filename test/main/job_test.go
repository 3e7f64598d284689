package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/test/harness"
)

const endTimeout = 30 * time.Second

const limited = `
agents:
  limited:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: lookup, arguments: {city: Oslo}}]
        - {text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
    limits: {maxModelRequests: 1}
`

func TestMain(m *testing.M) { harness.Main(m) }

func TestTheMainJobOnThreeProcessesAndARealRedis(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	stack := shipped(t, string(agent.Demo(tools.URL+"/lookup")))
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	view := api.Submit("demo", "Oslo, please")
	require.Equal(t, execution.Queued, view.State)

	waiting := api.AwaitState(view.ID, endTimeout, execution.WaitingForInput)
	require.Equal(t, &execution.Wait{Kind: execution.WaitInput}, waiting.Wait)
	require.Equal(t, execution.Elicitation, waiting.Interaction.Kind)
	require.Equal(t, "Book it?", waiting.Interaction.Prompt)
	require.Equal(t, execution.Step(5), waiting.Step)
	requireInManual(t, waiting)
	calls := tools.Calls("/lookup")
	require.Len(t, calls, 1, "the http endpoint is really called")
	require.JSONEq(t, `{"city":"Oslo"}`, string(calls[0].Arguments))
	harness.CheckEffectIDs(t, tools)

	api.Reply(waiting, "yes")
	ended := api.AwaitState(view.ID, endTimeout, execution.Completed)
	require.Equal(t, "Booked.", ended.Outcome.Answer)
	require.Equal(t, int64(2), ended.Usage.Requests)
	require.Equal(t, int64(2), ended.Usage.ToolCalls)
	requireGolden(t, "demo", stack, api, view.ID)
}

// requireInManual asserts that the manual's example of a view is what really comes.
func requireInManual(t *testing.T, view execution.View) {
	t.Helper()
	manual, err := os.ReadFile("../../docs/api.md")
	require.NoError(t, err)
	usage, err := json.Marshal(view.Usage)
	require.NoError(t, err)
	text := strings.ReplaceAll(string(manual), `": `, `":`)
	require.Contains(t, strings.ReplaceAll(text, `, "`, `,"`), `"usage":`+string(usage))
	require.Contains(t, text, fmt.Sprintf(`"requestId":%q, "kind":"elicitation"`, view.Interaction.RequestID))
	require.Contains(t, text, fmt.Sprintf(`"step":%d, "node":%q, "version":%d,`, view.Step, view.Node, view.Version))
}

func TestAnExecutionThatFailsEndsAtRunFailed(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	stack := shipped(t, strings.ReplaceAll(limited, "$TOOLS", tools.URL))
	api := stack.API()
	stack.Worker()
	view := api.Submit("limited", "Oslo, please")
	ended := api.AwaitState(view.ID, endTimeout, execution.Failed)
	require.Equal(t, execution.CodeUsageLimitExceeded, ended.Failure.Code)
	require.Contains(t, ended.Failure.Message, "maxModelRequests", "it names the limit")
	requireGolden(t, "limited", stack, api, view.ID)
}

// shipped is a stack of the programs as they are shipped, with their own defaults but for the addresses.
func shipped(t *testing.T, agents string) *harness.Stack {
	t.Helper()
	return harness.New(t, harness.Config{
		Agents: agents, Tag: "none", ClaimTTL: 15 * time.Second, Grace: 5 * time.Second,
		Redis: []string{"--appendonly", "yes"},
	})
}

func requireGolden(t *testing.T, name string, stack *harness.Stack, api *harness.API, id execution.ID) {
	t.Helper()
	events := api.Events(id)
	harness.CheckLog(t, id, events)
	requireGoldenEvents(t, name, events)
	var nodes []string
	for i, data := range stack.Checkpoints(id) {
		checkpoint, err := executor.DecodeCheckpoint([]byte(data))
		require.NoError(t, err)
		require.Equal(t, execution.Step(i), checkpoint.Step)
		nodes = append(nodes, string(checkpoint.Node))
	}
	require.Equal(t, golden(t, name+".checkpoints.txt"), nodes)
}

func requireGoldenEvents(t *testing.T, name string, events []execution.Event) {
	t.Helper()
	want := golden(t, name+".events.jsonl")
	var got []string
	for _, event := range events {
		data, err := json.Marshal(event)
		require.NoError(t, err)
		got = append(got, stable(t, data))
	}
	for i := range want {
		want[i] = stable(t, []byte(want[i]))
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// stable blanks what differs from run to run, and orders the keys.
func stable(t *testing.T, event []byte) string {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal(event, &fields))
	delete(fields, "occurredAtMs")
	for _, name := range []string{"invocationId", "requestId", "message"} {
		if text, ok := fields[name].(string); ok {
			require.NotEmpty(t, text, name)
			fields[name] = "*"
		}
	}
	data, err := json.Marshal(fields)
	require.NoError(t, err)
	return string(data)
}

func golden(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}
