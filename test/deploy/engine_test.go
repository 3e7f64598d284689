//go:build engine

package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// composeTimeout is of one command; the first builds the image without a cache.
const composeTimeout = 15 * time.Minute

// composed is compose.yaml on a container engine, in a copy of the project with the agents of the smoke test beside it.
type composed struct {
	folder string
}

// compose copies the project, as a checkout holds it, and ends with it what runs there, volumes and images included.
func compose(t *testing.T) *composed {
	t.Helper()
	c := &composed{folder: t.TempDir()}
	files := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	files.Dir = root(t)
	names, err := files.Output()
	require.NoError(t, err)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root(t), name))
		if os.IsNotExist(err) { // removed, and that is not committed
			continue
		}
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(c.folder, name)), 0o700))
		write(t, filepath.Join(c.folder, name), string(content))
	}
	write(t, filepath.Join(c.folder, "agents.yaml"), agents)
	require.NoError(t, os.Chmod(filepath.Join(c.folder, "agents.yaml"), 0o644)) //nolint:gosec // the image's user reads it
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.try("logs", "--tail", "40"))
		}
		t.Log(c.try("down", "--volumes", "--rmi", "local", "--timeout", "1"))
	})
	return c
}

// run is `docker compose …` in the copy; it gives what the command prints.
func (c *composed) run(t *testing.T, args ...string) string {
	t.Helper()
	began := time.Now()
	cmd := c.command(args...)
	var failure strings.Builder
	cmd.Stderr = &failure
	output, err := cmd.Output()
	require.NoError(t, err, "docker compose %s: %s%s", strings.Join(args, " "), output, failure.String())
	t.Logf("docker compose %s: %.1f s", strings.Join(args, " "), time.Since(began).Seconds())
	return string(output)
}

func (c *composed) try(args ...string) string {
	output, err := c.command(args...).CombinedOutput()
	return fmt.Sprintf("docker compose %s: %v\n%s", strings.Join(args, " "), err, output)
}

func (c *composed) command(args ...string) *exec.Cmd {
	timeout := fmt.Sprint(int(composeTimeout.Seconds()))
	cmd := exec.Command("timeout", append([]string{timeout, "docker", "compose"}, args...)...) //nolint:gosec // the test's own
	cmd.Dir, cmd.Env = c.folder, append(os.Environ(), "VERSION=v0.0.0-test", "COMPOSE_PROJECT_NAME=pawl-test")
	return cmd
}

// container is what the engine says of one.
type container struct {
	Name       string
	State      struct{ Pid, ExitCode int }
	HostConfig struct{ ReadonlyRootfs bool }
}

func (c *composed) containers(t *testing.T, service string) []container {
	t.Helper()
	ids := strings.Fields(c.run(t, "ps", "--all", "--quiet", service))
	require.NotEmpty(t, ids, service)
	output, err := exec.CommandContext(t.Context(), "docker", append([]string{"inspect"}, ids...)...).Output()
	require.NoError(t, err)
	var found []container
	require.NoError(t, json.Unmarshal(output, &found))
	return found
}

func (c *composed) key(t *testing.T, tenant string) string {
	t.Helper()
	output := c.run(t, "exec", "-T", "api", "/usr/local/bin/pawl",
		"keys", "create", "--tenant", tenant, "--subject", "app", "--role", "submit", "--json")
	var made struct {
		Key string `json:"key"`
	}
	require.NoError(t, json.Unmarshal([]byte(output), &made), output)
	return made.Key
}

// TestCompose_RunsOnAContainerEngine does what the head of compose.yaml says, with the image that the Dockerfile builds.
func TestCompose_RunsOnAContainerEngine(t *testing.T) {
	t.Parallel()
	c := compose(t)
	c.run(t, "up", "--build", "--wait")
	require.Contains(t, c.run(t, "exec", "-T", "api", "/usr/local/bin/pawl", "version"), "v0.0.0-test")
	require.Len(t, c.containers(t, "api"), 2)
	require.Len(t, c.containers(t, "reaper"), 2)
	workers := c.containers(t, "worker")
	require.Len(t, workers, 3)
	for _, service := range []string{"api", "worker", "reaper"} {
		for _, each := range c.containers(t, service) {
			checkConfined(t, each)
		}
	}
	d := deployment{
		apis: [2]string{"127.0.0.1:8080", "127.0.0.1:8081"},
		key:  func(tenant string) string { return c.key(t, tenant) },
		killWorker: func() {
			require.NoError(t, syscall.Kill(workers[0].State.Pid, syscall.SIGKILL))
		},
	}
	ready(t, d.apis)
	ids := smoke(t, d)
	harness.Eventually(t, startTimeout, "the killed worker is started again", func() bool {
		for _, each := range c.containers(t, "worker") {
			if each.Name == workers[0].Name {
				return each.State.Pid != 0 && each.State.Pid != workers[0].State.Pid
			}
		}
		return false
	})
	c.run(t, "up", "--scale", "worker=5", "--wait")
	require.Len(t, c.containers(t, "worker"), 5)

	c.run(t, "stop")
	for _, service := range []string{"api", "worker", "reaper", "redis"} {
		for _, each := range c.containers(t, service) {
			require.Zero(t, each.State.ExitCode, "%s did not stop cleanly within its grace", each.Name)
		}
	}
	c.run(t, "down") // keeps the volume
	c.run(t, "up", "--wait")
	ready(t, d.apis)
	first := dial(t, d.apis[0], d.key("acme"))
	for _, id := range ids {
		view, err := first.Execution(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, execution.Completed, view.State)
	}
}

// ready waits until both replicas say that they are.
func ready(t *testing.T, apis [2]string) {
	t.Helper()
	for _, addr := range apis {
		harness.Eventually(t, startTimeout, addr+" is ready", func() bool {
			answer, err := http.Get("http://" + addr + "/readyz")
			return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
		})
	}
}

// checkConfined looks at the process as the kernel sees it: a user without rights, no capability, none to be gained.
func checkConfined(t *testing.T, c container) {
	t.Helper()
	require.True(t, c.HostConfig.ReadonlyRootfs, c.Name)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.State.Pid))
	require.NoError(t, err)
	for _, line := range []string{"Uid:\t65532\t65532\t65532\t65532\n", "CapEff:\t0000000000000000\n", "NoNewPrivs:\t1\n"} {
		require.Contains(t, string(status), line, c.Name)
	}
}
