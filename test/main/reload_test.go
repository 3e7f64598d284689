package main_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// asking is an agent file of one agent that asks a person and then says what it is.
func asking(name, answer string) string {
	return `agents:
  ` + name + `:
    model: {provider: scripted, turns: [{toolCalls: [{name: ask, arguments: {question: "Go on?"}}]}, {text: "` + answer + `"}]}
    tools: [{name: ask, type: human}]
`
}

func TestAHangUpReadsTheAgentsAgain(t *testing.T) {
	t.Parallel()
	stack := shipped(t, asking("demo", "old"))
	api, worker, reaper := stack.API(), stack.Worker(), stack.Reaper()
	reloads(t, api, func(text string) { stack.WriteAgents(text) })

	for _, program := range []*harness.Process{worker, reaper} {
		program.HangUp()
		program.WaitLog(endTimeout, "nothing to read again")
		require.True(t, program.Running())
	}
	view := api.Submit("demo", "go")
	api.Reply(api.AwaitState(view.ID, endTimeout, execution.WaitingForInput), "yes")
	require.Equal(t, "new", api.AwaitState(view.ID, endTimeout, execution.Completed).Outcome.Answer)
	api.StopCleanly()
	worker.StopCleanly()
	reaper.StopCleanly()
}

func TestDevReadsTheAgentsAgain(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "agents.yaml")
	rewrite := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	rewrite(asking("demo", "old"))
	addr := harness.FreeAddr(t)
	dev := harness.Run(t, "pawl dev", home, filepath.Join(harness.Programs(t, ""), "pawl"), []string{
		"PATH=", "HOME=" + home, "PAWL_HTTP_ADDR=" + addr, "PAWL_AGENTS=" + file,
	}, "dev")
	reloads(t, harness.Attach(t, dev, addr, endTimeout), rewrite)
}

// reloads changes the agents of an API: executions under way keep their definition, new ones have the new one, and a file
// with mistakes changes nothing.
func reloads(t *testing.T, api *harness.API, rewrite func(text string)) {
	t.Helper()
	before := api.AwaitState(api.Submit("demo", "go").ID, endTimeout, execution.WaitingForInput)

	rewrite(asking("demo", "new") + "  # and a second one\n  other:\n    model: {provider: scripted, turns: [{text: hi}]}\n")
	api.HangUp()
	api.WaitLog(endTimeout, "the agents were read again")
	require.Contains(t, agentsOf(t, api), `"other"`)
	after := api.AwaitState(api.Submit("demo", "go").ID, endTimeout, execution.WaitingForInput)
	api.Reply(before, "yes")
	api.Reply(after, "yes")
	require.Equal(t, "old", api.AwaitState(before.ID, endTimeout, execution.Completed).Outcome.Answer)
	require.Equal(t, "new", api.AwaitState(after.ID, endTimeout, execution.Completed).Outcome.Answer)

	rewrite("agents:\n  demo:\n    color: red\n")
	api.HangUp()
	api.WaitLog(endTimeout, "agents.yaml:3: agents.demo.color: unknown key")
	api.WaitLog(endTimeout, "agents.yaml:2: agents.demo.model: is required")
	api.WaitLog(endTimeout, "what was there before holds on")
	require.Contains(t, agentsOf(t, api), `"other"`)
	ready, err := api.Do(context.Background(), http.MethodGet, "/readyz", nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, ready.Status)
}

func agentsOf(t *testing.T, api *harness.API) string {
	t.Helper()
	answer, err := api.Do(context.Background(), http.MethodGet, "/v1/agents", nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
	return string(answer.Body)
}
