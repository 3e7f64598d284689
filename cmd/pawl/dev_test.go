package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestDev_WritesTheExampleOut(t *testing.T) {
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "demo", "agents.yaml"))
	require.NoError(t, err)
	for _, addr := range []string{"", "127.0.0.1:9191"} {
		t.Setenv("PAWL_HTTP_ADDR", addr)
		file := filepath.Join(t.TempDir(), "agents.yaml")
		got := typeCommand(t, newFake(execution.View{}), false, nil, "dev", "--write-agents", file)
		require.Zero(t, got.code, got.err)
		written, err := os.ReadFile(file)
		require.NoError(t, err)
		want := string(example)
		if addr != "" {
			want = strings.ReplaceAll(want, "127.0.0.1:8080", addr)
		}
		require.Equal(t, want, string(written))
	}
}
