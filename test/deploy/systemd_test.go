package deploy

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/stretchr/testify/require"
)

// options are the options of a unit file, by section and name; of a repeated one all values.
func options(t *testing.T, path string) map[string][]string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	parsed, err := unit.DeserializeOptions(file)
	require.NoError(t, err, path)
	values := make(map[string][]string)
	for _, option := range parsed {
		name := option.Section + "." + option.Name
		values[name] = append(values[name], option.Value)
	}
	return values
}

// environmentFile are the names and values of an EnvironmentFile.
func environmentFile(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	values := make(map[string]string)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		require.True(t, found, "%s: %s", path, line)
		values[name] = value
	}
	return values
}

func TestUnits_StartTheProgramsWithAnEnvironmentTheyAccept(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root(t), "deploy", "systemd")
	for file, program := range map[string]string{
		"pawl-api.service": "api", "pawl-worker@.service": "worker", "pawl-reaper.service": "reaper",
	} {
		values := options(t, filepath.Join(folder, file))
		require.Equal(t, []string{"/usr/local/bin/" + program}, values["Service.ExecStart"], file)
		environment := make(map[string]string)
		for _, path := range values["Service.EnvironmentFile"] {
			name := filepath.Base(strings.TrimPrefix(path, "-"))
			for key, value := range environmentFile(t, filepath.Join(folder, name)) {
				environment[key] = value
			}
		}
		require.NotEmpty(t, environment, file)
		drain := environment["PAWL_DRAIN_TIMEOUT"]
		accepts(t, program, environment)
		if program == "worker" {
			timeout, err := strconv.Atoi(values["Service.TimeoutStopSec"][0])
			require.NoError(t, err)
			wanted, err := time.ParseDuration(drain)
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Duration(timeout)*time.Second, wanted+handBack)
		}
	}
}
