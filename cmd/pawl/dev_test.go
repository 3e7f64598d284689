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
	written := func() string {
		file := filepath.Join(t.TempDir(), "agents.yaml")
		got := typeCommand(t, newFake(execution.View{}), false, nil, "dev", "--write-agents", file)
		require.Zero(t, got.code, got.err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}
	t.Setenv("PAWL_HTTP_ADDR", "")
	require.Equal(t, string(example), written())
	t.Setenv("PAWL_HTTP_ADDR", "127.0.0.1:9191")
	require.Equal(t, strings.ReplaceAll(string(example), "127.0.0.1:8080", "127.0.0.1:9191"), written())
}
