package main_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// cli types commands against an API.
type cli struct {
	t       *testing.T
	program string
	env     []string
}

func newCLI(t *testing.T, api *harness.API) cli {
	t.Helper()
	return cli{
		t: t, program: filepath.Join(harness.Programs(t, ""), "pawl"),
		env: []string{"PATH=", "HOME=" + t.TempDir(), "PAWL_URL=" + api.URL},
	}
}

// types gives what a command printed, and its exit code.
func (c cli) types(args ...string) (out string, code int) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), c.program, args...)
	cmd.Env = c.env
	text, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return string(text) + string(ended.Stderr), ended.ExitCode()
	}
	require.NoError(c.t, err)
	return strings.TrimRight(string(text), "\n"), 0
}

// succeeds is types of a command that exits with 0.
func (c cli) succeeds(args ...string) string {
	c.t.Helper()
	out, code := c.types(args...)
	require.Zero(c.t, code, "pawl %v: %s", args, out)
	return out
}

// Every command about executions, as an operator types them one after the other.
func TestTheCommandsOnARunningInstallation(t *testing.T) {
	t.Parallel()
	api := devInMemory(t, "")
	pawl := newCLI(t, api)
	id := pawl.succeeds("submit", "--metadata", "order=7", "--retention", "1h", "demo", "Oslo, please")
	following := harness.Run(t, "pawl events", "", pawl.program, pawl.env, "events", "--since", "1m", "--json")
	api.AwaitState(execution.ID(id), endTimeout, execution.WaitingForInput)
	require.Contains(t, pawl.succeeds("why", id), "waiting_for_input, waits for input")
	require.Contains(t, pawl.succeeds("show", id), "order=7")
	require.Contains(t, pawl.succeeds("release", id), "nothing to release")
	require.Contains(t, pawl.succeeds("messages", id), "#0 user\n  Oslo, please\n#1 assistant\n")
	require.Contains(t, pawl.succeeds("agents", "list"), "demo  local")
	out, code := pawl.types("delete", "--yes", id)
	require.Equal(t, 5, code)
	require.Contains(t, out, "pawl cancel "+id)
	pawl.succeeds("input", id, "yes")
	require.Contains(t, pawl.succeeds("watch", id), "execution_completed")
	following.WaitLog(endTimeout, `"type":"execution_completed"`)

	var forkable []execution.Step
	for line := range strings.Lines(pawl.succeeds("checkpoints", "--json", id)) {
		var checkpoint execution.Checkpoint
		require.NoError(t, json.Unmarshal([]byte(line), &checkpoint))
		if checkpoint.Forkable {
			forkable = append(forkable, checkpoint.Step)
		}
	}
	require.NotEmpty(t, forkable)
	forked := pawl.succeeds("fork", "--step", "0", id, "Bergen instead")
	api.AwaitState(execution.ID(forked), endTimeout, execution.WaitingForInput)
	require.Contains(t, pawl.succeeds("show", forked), "forked from")
	require.Contains(t, pawl.succeeds("messages", forked), "Bergen instead")
	require.Contains(t, pawl.succeeds("pause", forked), "is suspended")
	require.Equal(t, forked, pawl.succeeds("bulk", "resume", "--state", "suspended", "--dry-run"))
	require.Contains(t, pawl.succeeds("resume", "--max-turns", "9", forked), "is waiting_for_input")
	_, code = pawl.types("bulk", "cancel", "--agent", "demo")
	require.Equal(t, 2, code, "nobody can be asked")
	require.Equal(t, forked, pawl.succeeds("bulk", "cancel", "--agent", "demo", "--yes"))
	_, code = pawl.types("watch", forked)
	require.Equal(t, 3, code)
	require.Equal(t, id+" is deleted\n"+forked+" is deleted", pawl.succeeds("delete", "--yes", id, forked))
	out, code = pawl.types("show", id)
	require.Equal(t, 5, code)
	require.Contains(t, out, "there is no such execution")
	require.Empty(t, pawl.succeeds("list", "--json"))
}
