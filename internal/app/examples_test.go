package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

func TestExampleOfModelsIsSound(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Load("../../examples/models/agents.yaml")
	require.NoError(t, err)
	factories, err := modelFactories()
	require.NoError(t, err)
	for _, name := range []string{"assistant", "claude", "local"} {
		definition, ok := catalog.Agent(name)
		require.True(t, ok, name)
		_, err := factories[definition.Model.Provider](t.Context(), definition, func(string) (string, bool) { return "k", true })
		require.NoError(t, err)
	}
}
