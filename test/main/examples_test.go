package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// examples builds the programs of examples/client and gives their folder.
func examples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir, "./...")
	build.Dir = filepath.Join("..", "..", "examples", "client")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return dir
}

// devInMemory is `pawl dev` on a store in memory, with an agent file of the examples or its own.
func devInMemory(t *testing.T, agents string) *harness.API {
	t.Helper()
	addr := harness.FreeAddr(t)
	env := []string{"PATH=", "HOME=" + t.TempDir(), "PAWL_HTTP_ADDR=" + addr, "PAWL_DATA_DIR=" + t.TempDir()}
	if agents != "" {
		text, err := os.ReadFile(agents)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "agents.yaml")
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "127.0.0.1:8080", addr)), 0o600))
		env = append(env, "PAWL_AGENTS="+file)
	}
	process := harness.Run(t, "pawl dev", "", filepath.Join(harness.Programs(t, ""), "pawl"), env, "dev")
	return harness.Attach(t, process, addr, endTimeout)
}

// runExample runs an example to its end.
func runExample(t *testing.T, api *harness.API, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = []string{"PAWL_URL=" + api.URL}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", filepath.Base(program), args, out)
	return string(out)
}

func TestTheExamplesOfTheClientStreamAndFork(t *testing.T) {
	t.Parallel()
	programs, api := examples(t), devInMemory(t, "")
	said := runExample(t, api, filepath.Join(programs, "stream"), "Oslo, please")
	for _, want := range []string{"\n1 execution_queued", "interaction_required: Book it? yes", "execution_completed", "\nAnswer: Booked.\n"} {
		require.Contains(t, said, want)
	}

	view := api.Submit("demo", "Oslo, please")
	api.Reply(api.AwaitState(view.ID, endTimeout, execution.WaitingForInput), "yes")
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	said = runExample(t, api, filepath.Join(programs, "fork"), string(view.ID), "Bergen instead")
	require.Contains(t, said, string(view.ID)+" completed: Booked.\n")
	require.Regexp(t, `exec_\w+ \(from step \d+\) \w+: `, said)

	view = api.AwaitState(api.Submit("demo", "Oslo, please").ID, endTimeout, execution.WaitingForInput)
	_, _ = api.Pause(view.ID)
	said = runExample(t, api, filepath.Join(programs, "fork"), string(view.ID), "Bergen instead")
	require.Contains(t, said, string(view.ID)+" suspended: paused. It goes on when it is resumed: pawl resume "+string(view.ID)+"\n")
}

func TestTheExampleOfTheClientApproves(t *testing.T) {
	t.Parallel()
	programs, api := examples(t), devInMemory(t, filepath.Join("..", "..", "examples", "approvals", "agents.yaml"))
	approvable := func(view execution.View) bool {
		return view.Interaction != nil && view.Interaction.Kind == execution.Approval
	}
	// Its client's call is answered, so that it waits for the approval alone.
	submit := func() execution.View {
		view := api.AwaitState(api.Submit("desk", "Where can I fly?").ID, endTimeout, execution.WaitingForInput)
		for !approvable(view) {
			api.Input(view.ID, "locate", execution.Input{
				Type: execution.ToolResultInput, CallID: view.Interaction.Calls[0].CallID, Result: []byte(`{"lat": 59.9}`),
			})
			view = api.AwaitState(view.ID, endTimeout, execution.WaitingForInput)
		}
		return view
	}
	view := submit()
	said := runExample(t, api, filepath.Join(programs, "approve"), "Bergen")
	require.Contains(t, said, string(view.ID)+` lookup {"city":"Bergen"}: approve`)

	following := harness.Run(t, "approve -follow", "", filepath.Join(programs, "approve"), []string{"PAWL_URL=" + api.URL}, "-follow", "Paris")
	rejected := submit()
	following.WaitLog(endTimeout, string(rejected.ID)+` lookup {"city":"Bergen"}: reject`)
	following.Interrupt()
	_, err := following.WaitExit()
	require.NoError(t, err)
}
