//go:build peers && unix

package peers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// endTimeout is how long an execution may take on a busy machine.
const endTimeout = 60 * time.Second

// mcpAgent is an agent with the tools of the reference server, which calls one of them and says done.
func mcpAgent(name, server, keys, tool, arguments string) string {
	return fmt.Sprintf(`
  %s:
    model: {provider: scripted, turns: [{toolCalls: [{name: all_%s, arguments: %s}]}, {text: "Done."}]}
    tools:
      - {name: all, type: mcp, %s%s}
`, name, tool, arguments, server, keys)
}

// mcpStack runs the agents on real processes and a real Redis.
func mcpStack(t *testing.T, agents string) (*harness.Stack, *harness.API, *harness.Process) {
	t.Helper()
	stack := harness.New(t, harness.Config{Agents: "agents:" + agents, Tag: "none"})
	api := stack.API()
	stack.Reaper()
	return stack, api, stack.Worker()
}

// results are the receipts of an execution's tool calls, as they are stored.
func results(t *testing.T, stack *harness.Stack, id execution.ID) string {
	t.Helper()
	receipts, err := stack.Redis.HVals(t.Context(), harness.RowKey(id)+":tools").Result()
	require.NoError(t, err)
	return strings.Join(receipts, "\n")
}

func TestTheEverythingServerServesExecutionsOfAnInstallation(t *testing.T) {
	t.Parallel()
	started := "command: [" + installed(t, "mcp-server-everything") + ", stdio]"
	stack, api, _ := mcpStack(t, mcpAgent("echo", started, "", "echo", `{message: "hi there"}`)+
		mcpAgent("wrong", started, "", "get-sum", `{a: 1}`)+
		mcpAgent("image", started, "", "get-tiny-image", `{}`)+
		mcpAgent("slow", started, "", "trigger-long-running-operation", `{duration: 2, steps: 4}`))
	for _, c := range []struct {
		agent, want string
		failed      bool
	}{{"echo", "hi there", false}, {"wrong", "arguments are not valid", true}, {"image", "image/png", false}, {"slow", "completed", false}} {
		t.Run(c.agent, func(t *testing.T) {
			t.Parallel()
			api := api.For(t)
			view := api.Submit(c.agent, "go")
			if c.agent == "slow" {
				awaitProgress(t, api, view.ID)
			}
			require.Equal(t, "Done.", api.AwaitState(view.ID, endTimeout, execution.Completed).Outcome.Answer)
			require.Contains(t, results(t, stack, view.ID), c.want)
			for _, event := range api.Events(view.ID) {
				if completed, ok := event.Payload.(*execution.ToolCompleted); ok {
					require.Equal(t, c.failed, completed.Failed)
				}
			}
		})
	}
}

// awaitProgress follows an execution until its tool says how far it is.
func awaitProgress(t *testing.T, api *harness.API, id execution.ID) {
	t.Helper()
	stream := api.Stream(id, 0)
	defer stream.Cut()
	for {
		message, ok := stream.Any()
		require.True(t, ok, "the stream ended without a frame of progress")
		if strings.Contains(message.Type+message.Data, string(execution.FrameToolProgress)) {
			return
		}
	}
}

// A server's question to a person parks the execution; no worker is held, and the answer may come to another one.
func TestAQuestionOfTheEverythingServerIsAnInteraction(t *testing.T) {
	t.Parallel()
	url := serve(t, "mcp-server-everything", func(string) []string { return []string{"streamableHttp"} })
	for name, server := range map[string]string{
		"started":   "command: [" + installed(t, "mcp-server-everything") + ", stdio]",
		"over HTTP": `url: "` + url + `/mcp"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stack, api, worker := mcpStack(t, mcpAgent("asks", server, "", "trigger-elicitation-request", `{}`))
			said := api.AwaitState(api.Submit("asks", "go").ID, endTimeout, execution.WaitingForInput)
			declined := api.AwaitState(api.Submit("asks", "go").ID, endTimeout, execution.WaitingForInput)
			require.Equal(t, &execution.Wait{Kind: execution.WaitInput}, said.Wait)
			require.Equal(t, execution.Elicitation, said.Interaction.Kind)
			require.Equal(t, "Please provide inputs for the following fields:", said.Interaction.Prompt)
			require.Equal(t, "all_trigger-elicitation-request", said.Interaction.Calls[0].Name)
			var form struct {
				Required   []string       `json:"required"`
				Properties map[string]any `json:"properties"`
			}
			require.NoError(t, json.Unmarshal(said.Interaction.Schema, &form))
			require.Equal(t, []string{"name"}, form.Required)
			require.Contains(t, form.Properties, "legacyTitledEnum")

			worker.StopCleanly()
			answer := execution.Input{
				Type: execution.ElicitationResponse, RequestID: said.Interaction.RequestID,
				Content: json.RawMessage(`{"name":"Ada Lovelace","integer":7}`),
			}
			bad := answer
			bad.Content = json.RawMessage(`{"name":7}`)
			refused := api.TryInput(said.ID, "bad", bad)
			require.Equal(t, 400, refused.Status, string(refused.Body))
			api.Input(said.ID, "good", answer)
			api.Input(declined.ID, "no", execution.Input{
				Type: execution.ElicitationResponse, RequestID: declined.Interaction.RequestID, Declined: true,
			})
			stack.Worker()
			require.Equal(t, "Done.", api.AwaitState(said.ID, endTimeout, execution.Completed).Outcome.Answer)
			require.Contains(t, results(t, stack, said.ID), "- Name: Ada Lovelace")
			require.Contains(t, results(t, stack, said.ID), "- Favorite Integer: 7")
			require.Equal(t, "Done.", api.AwaitState(declined.ID, endTimeout, execution.Completed).Outcome.Answer)
			require.Contains(t, results(t, stack, declined.ID), "User declined")
		})
	}
}

// Two calls of one batch ask; the person is asked twice, and each call gets its own answer.
func TestTwoCallsOfTheEverythingServerAskOneAfterTheOther(t *testing.T) {
	t.Parallel()
	stack, api, _ := mcpStack(t, `
  twice:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: all_trigger-elicitation-request}, {name: all_echo, arguments: {message: hi}}, {name: all_trigger-elicitation-request}]
        - {text: "Done."}
    tools:
      - {name: all, type: mcp, command: [`+installed(t, "mcp-server-everything")+`, stdio]}
`)
	view := api.Submit("twice", "go")
	asked := map[execution.CallID]bool{}
	for i, name := range []string{"Ada", "Grace"} {
		var waiting execution.View
		harness.Eventually(t, endTimeout, "the next question", func() bool {
			waiting = api.Get(view.ID)
			return waiting.Interaction != nil && !asked[waiting.Interaction.Calls[0].CallID]
		})
		require.Equal(t, execution.Elicitation, waiting.Interaction.Kind, waiting.Interaction.Prompt)
		require.Len(t, waiting.Interaction.Calls, 1)
		asked[waiting.Interaction.Calls[0].CallID] = true
		api.Input(view.ID, fmt.Sprint("answer-", i), execution.Input{
			Type: execution.ElicitationResponse, RequestID: waiting.Interaction.RequestID,
			Content: json.RawMessage(`{"name":"` + name + `"}`),
		})
	}
	require.Equal(t, "Done.", api.AwaitState(view.ID, endTimeout, execution.Completed).Outcome.Answer)
	got := results(t, stack, view.ID)
	require.Contains(t, got, "- Name: Ada")
	require.Contains(t, got, "- Name: Grace")
	require.Contains(t, got, "Echo: hi")
}

// Case B5: a server that is killed in a call leaves its outcome to the recovery class.
func TestCaseB5_AKilledServerLeavesItsCallToTheRecoveryClass(t *testing.T) {
	t.Parallel()
	started := "command: [" + installed(t, "mcp-server-everything") + ", stdio]"
	for _, recovery := range []string{"idempotent", "unsafe"} {
		t.Run(recovery, func(t *testing.T) {
			t.Parallel()
			_, api, worker := mcpStack(t, mcpAgent("long", started, ", recovery: "+recovery,
				"trigger-long-running-operation", `{duration: 4, steps: 8}`))
			view := api.Submit("long", "go")
			awaitProgress(t, api, view.ID)
			children := childrenOf(t, worker.PID())
			require.NotEmpty(t, children)
			for _, pid := range children {
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			}
			if recovery == "unsafe" {
				asked := api.AwaitState(view.ID, endTimeout, execution.WaitingForInput)
				require.Equal(t, execution.Approval, asked.Interaction.Kind)
				require.Equal(t, execution.OutcomeUnknown, asked.Interaction.Reason)
				api.Decide(asked, execution.Decision{Decision: execution.Reject, Reason: "never mind"})
			}
			require.Equal(t, "Done.", api.AwaitState(view.ID, endTimeout, execution.Completed).Outcome.Answer)
		})
	}
}

// childrenOf are the processes that pid has started.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	var children []int
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		var child, parent int
		var state string
		_, rest, _ := strings.Cut(string(text), ") ")
		if _, err := fmt.Sscan(rest, &state, &parent); err != nil || parent != pid {
			continue
		}
		if _, err := fmt.Sscan(string(text), &child); err == nil {
			children = append(children, child)
		}
	}
	return children
}
