package executor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
)

// The agent file knows nothing of backends, and gives a tool that runs an agent the name that the contract gives it.
func TestAToolOfAnAgentHasTheNameOfTheContract(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("agents.yaml", []byte(`
agents:
  lead:
    model: {provider: scripted, turns: [{text: done}]}
    tools: [{type: agent, agent: helper}]
  helper:
    model: {provider: scripted, turns: [{text: done}]}
`))
	require.NoError(t, err)
	lead, known := catalog.Agent("lead")
	require.True(t, known)
	require.Equal(t, backend.AgentToolName("helper"), lead.Tools[0].Name)
}
