package agent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

func TestServedNamesAreThoseThatModelsTake(t *testing.T) {
	t.Parallel()
	tool := agent.Tool{Name: "s", Type: agent.ToolMCP}
	require.Equal(t, "s_read_file", tool.Served("read_file"))
	require.Equal(t, "s_odd_name_dd01a492", tool.Served("odd name"))
	require.NotEqual(t, tool.Served("odd.name"), tool.Served("odd name"))
	require.NotEqual(t, tool.Served(""), "s_")
	require.Len(t, tool.Served(strings.Repeat("x", 62)), 64)
	require.Len(t, tool.Served(strings.Repeat("x", 63)), 64)
	require.NotEqual(t, tool.Served(strings.Repeat("x", 63)), tool.Served(strings.Repeat("x", 64)))
}

func TestRecoveryIsThatOfTheDeclarationAsFarAsItSaysOne(t *testing.T) {
	t.Parallel()
	definition := &agent.Definition{Tools: []agent.Tool{
		{Name: "files", Type: agent.ToolMCP, Allow: []string{"read", "write", "odd name"}, Recoveries: map[string]agent.Recovery{
			"read": agent.ReadOnly, "odd name": agent.Idempotent,
		}},
		{Name: "crm", Type: agent.ToolMCP, Recovery: agent.Idempotent, TrustHints: true},
		{Name: "hints", Type: agent.ToolMCP, TrustHints: true, Recoveries: map[string]agent.Recovery{"send": agent.Unsafe}},
		{Name: "refund", Type: agent.ToolHTTP, Recovery: agent.Reconcile},
		{Name: "old", Type: agent.ToolHTTP},
		{Name: "ask", Type: agent.ToolHuman},
		{Name: "front", Type: agent.ToolClient},
		{Name: "research", Type: agent.ToolAgent, Recovery: agent.Idempotent},
	}}
	odd := definition.Tools[0].Served("odd name")
	for name, want := range map[string]agent.Recovery{
		"files_read": agent.ReadOnly, "files_write": agent.Unsafe, odd: agent.Idempotent, "files_delete": "",
		"crm_any": agent.Idempotent, "hints_any": "", "hints_send": agent.Unsafe,
		"refund": agent.Reconcile, "old": agent.Unsafe, "ask": agent.ReadOnly, "front": agent.ReadOnly,
		"research": agent.Idempotent, "files": "", "none": "",
	} {
		require.Equal(t, want, definition.RecoveryOf(name), name)
	}
}
