package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

func TestParseReadsMCPTools(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("f.yaml", []byte(`agents:
  demo:
    model: {provider: scripted, turns: [{text: hi}]}
    tools:
      - {name: files, type: mcp, command: [npx, -y, server, /data], env: {KEY: "${KEY}"}, allow: [read_file], trustHints: true}
      - {name: crm, type: mcp, url: "https://h/mcp", headers: {Authorization: "Bearer ${CRM}"}, timeout: 5s,
         recovery: {create_ticket: unsafe, find: read_only}, onUnknown: fail, maxRetries: 2}
      - {name: web, type: mcp, url: "${WEB}", recovery: idempotent}
`))
	require.NoError(t, err)
	definition, ok := catalog.Agent("demo")
	require.True(t, ok)
	require.Equal(t, []agent.Tool{
		{
			Name: "files", Type: agent.ToolMCP, Command: []string{"npx", "-y", "server", "/data"}, Env: map[string]string{"KEY": "${KEY}"},
			Allow: []string{"read_file"}, TrustHints: true, Timeout: time.Minute, OnUnknown: agent.UnknownAsk, MaxRetries: 1,
		},
		{
			Name: "crm", Type: agent.ToolMCP, URL: "https://h/mcp", Headers: map[string]string{"Authorization": "Bearer ${CRM}"},
			Timeout: 5 * time.Second, OnUnknown: agent.UnknownFail, MaxRetries: 2,
			Recoveries: map[string]agent.Recovery{"create_ticket": agent.Unsafe, "find": agent.ReadOnly},
		},
		{
			Name: "web", Type: agent.ToolMCP, URL: "${WEB}", Recovery: agent.Idempotent, Timeout: time.Minute,
			OnUnknown: agent.UnknownAsk, MaxRetries: 1,
		},
	}, definition.Tools)
	decoded, err := agent.Decode(definition.Canonical())
	require.NoError(t, err)
	require.Equal(t, definition.Hash(), decoded.Hash())
}
