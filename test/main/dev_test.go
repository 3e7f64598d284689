package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// compileTimeout is how long `go run` may take on a machine that has compiled nothing yet.
const compileTimeout = 5 * time.Minute

// A machine with Go only: PATH holds the go command and nothing else, HOME is empty. The build cache is kept, or the test
// would compile the standard library each time.
func TestDevRunsTheMainJobOnAMachineWithGoOnly(t *testing.T) {
	t.Parallel()
	api := goRunDev(t)
	t.Run("submitted by HTTP", func(t *testing.T) {
		view := api.Submit("demo", "Oslo, please")
		api.Reply(api.AwaitState(view.ID, endTimeout, execution.WaitingForInput), "yes")
		require.Equal(t, "Booked.", api.AwaitState(view.ID, endTimeout, execution.Completed).Outcome.Answer)
		events := api.Events(view.ID)
		harness.CheckLog(t, view.ID, events)
		requireGoldenEvents(t, "demo", events)
	})
	t.Run("submitted, followed and answered by the CLI", func(t *testing.T) { driveByCLI(t, api) })
	t.Run("Ctrl-C ends it", func(t *testing.T) {
		api.Interrupt()
		_, err := api.WaitExit()
		t.Logf("`go run` after Ctrl-C: %v", err)
	})
}

func goRunDev(t *testing.T) *harness.API {
	t.Helper()
	root, err := harness.Root()
	require.NoError(t, err)
	goBin := filepath.Join(goEnv(t, "GOROOT"), "bin")
	_, err = os.Stat(filepath.Join(goBin, "redis-server"))
	require.Error(t, err, "no redis-server may be on PATH")
	addr := harness.FreeAddr(t)
	env := []string{"PATH=" + goBin, "HOME=" + t.TempDir(), "PAWL_HTTP_ADDR=" + addr, "PAWL_DATA_DIR=" + t.TempDir()}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOSUMDB"} {
		env = append(env, name+"="+goEnv(t, name))
	}
	dev := harness.Run(t, "go run ./cmd/pawl dev", root, filepath.Join(goBin, "go"), env, "run", "./cmd/pawl", "dev")
	api := harness.Attach(t, dev, addr, compileTimeout)
	require.Contains(t, dev.Log(), "memory", "it says that its store is not durable")
	return api
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	value, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(value))
}

func driveByCLI(t *testing.T, api *harness.API) {
	t.Helper()
	program := filepath.Join(harness.Programs(t, ""), "pawl")
	env := []string{"PATH=", "HOME=" + t.TempDir(), "PAWL_URL=" + api.URL}
	cli := func(args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Env = env
		out, err := cmd.Output()
		require.NoError(t, err, "pawl %v: %s", args, out)
		return strings.TrimSpace(string(out))
	}
	id, err := execution.ParseID(cli("submit", "demo", "Oslo, please"))
	require.NoError(t, err)
	watch := harness.Run(t, "pawl watch", "", program, env, "watch", string(id))
	api.AwaitState(id, endTimeout, execution.WaitingForInput)
	watch.WaitLog(endTimeout, "Book it?")
	cli("input", string(id), "yes")
	_, err = watch.WaitExit()
	require.NoError(t, err, "watch exits with 0 when the execution completed")
	for _, want := range []string{"lookup", "confirm", "Booked."} {
		require.Contains(t, watch.Log(), want)
	}
	requireGoldenEvents(t, "demo", api.Events(id))
}
