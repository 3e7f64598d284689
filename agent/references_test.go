package agent_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

func TestReferencesNameEveryVariableAndItsPlace(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/complete.yaml")
	require.NoError(t, err)
	catalog, err := agent.Parse("f.yaml", text)
	require.NoError(t, err)
	for name, want := range map[string][]agent.Reference{
		"http":    {{Name: "PATH_PART", Path: "agents.http.tools[0].url"}, {Name: "TOKEN", Path: "agents.http.tools[0].headers.Authorization"}},
		"started": {{Name: "LOG_TOKEN", Path: "agents.started.tools[0].env.LOG_TOKEN"}},
		"reached": {{Name: "CRM", Path: "agents.reached.tools[0].headers.Authorization"}},
		"openai": {
			{Name: "LLM_URL", Path: "agents.openai.model.baseURL"},
			{Name: "LLM_KEY", Path: "agents.openai.model.apiKey"},
			{Name: "KEY", Path: "agents.openai.model.fallback[0].apiKey"},
			{Name: "KEY", Path: "agents.openai.model.fallback[1].apiKey"},
		},
		"remote": {
			{Name: "AGENTS_HOST", Path: "agents.remote.endpoint.url"},
			{Name: "AGENT_TOKEN", Path: "agents.remote.endpoint.auth.token"},
		},
		"human": nil,
	} {
		definition, ok := catalog.Agent(name)
		require.True(t, ok, name)
		require.Equal(t, want, definition.References(), name)
	}
}
