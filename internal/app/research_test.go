package app

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestExampleOfResearch(t *testing.T) {
	t.Parallel()
	tool := &counting{}
	server := httptest.NewServer(tool)
	t.Cleanup(server.Close)
	text, err := os.ReadFile("../../examples/research/agents.yaml")
	require.NoError(t, err)
	example := strings.ReplaceAll(string(text), "http://127.0.0.1:8080/demo/lookup", server.URL+"/lookup")
	require.NotEqual(t, string(text), example)
	file := filepath.Join(t.TempDir(), "agents.yaml")
	require.NoError(t, os.WriteFile(file, []byte(example), 0o600))
	cfg := devConfig(filepath.Join(t.TempDir(), ".pawl"))
	cfg.AgentsFile, cfg.MaxDepth = file, 5
	api, _, stop := startDev(t, cfg)
	t.Cleanup(stop)

	id := submitTo(t, api, execution.CreateRequest{Agent: "editor"})
	view := awaitState(t, api, id, execution.Completed)
	require.Equal(t, "A new museum, and a new play.", view.Outcome.Answer)
	require.Equal(t, execution.Usage{Requests: 8, ToolCalls: 5, DelegatedRequests: 5}, view.Usage)
	require.Len(t, tool.all(), 2)
	for _, call := range []execution.CallID{"call_0_0", "call_0_1"} {
		child, err := api.Execution(t.Context(), execution.ChildID(id, call))
		require.NoError(t, err)
		require.Equal(t, execution.Completed, child.State)
		require.Equal(t, &execution.Parent{Execution: id, Call: call}, child.Parent)
		require.Equal(t, execution.Usage{Requests: 2, ToolCalls: 1}, child.Usage)
	}
}
