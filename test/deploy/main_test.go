package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// root is the folder of the project.
func root(t *testing.T) string {
	t.Helper()
	dir, err := harness.Root()
	require.NoError(t, err)
	return dir
}

// started is what each program says when it has begun its work.
func started() map[string]string {
	return map[string]string{"api": "serving the API", "worker": "working", "reaper": "sweeping"}
}

const startTimeout = 30 * time.Second

// accepts starts the program with the environment as it stands in a file, but for the addresses of this machine, waits
// until it works, and stops it.
func accepts(t *testing.T, program string, environment map[string]string) {
	t.Helper()
	server := redistest.Start(t, "--appendonly", "yes", "--maxmemory-policy", "noeviction")
	environment = maps.Clone(environment)
	environment["PAWL_REDIS_URL"], environment["HOME"] = server.URL(), t.TempDir()
	for _, name := range []string{"PAWL_HTTP_ADDR", "PAWL_ADMIN_ADDR"} {
		if _, named := environment[name]; named {
			environment[name] = harness.FreeAddr(t)
		}
	}
	if _, named := environment["PAWL_AGENTS"]; named {
		environment["PAWL_AGENTS"] = filepath.Join(root(t), "examples", "demo", "agents.yaml")
	}
	p := harness.Run(t, program, t.TempDir(), filepath.Join(harness.Programs(t, ""), program), list(environment))
	p.WaitLog(startTimeout, started()[program])
	p.StopCleanly()
}

// list is an environment as processes take it.
func list(environment map[string]string) []string {
	entries := make([]string, 0, len(environment))
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		entries = append(entries, name+"="+environment[name])
	}
	return entries
}

// write puts a file into a folder of the test.
func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
