package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

func TestASubmissionThatARemoteDoesNotTakeIsRefusedInItsWords(t *testing.T) {
	t.Parallel()
	far := &agent.Definition{Name: "far", Backend: agent.BackendA2A, Endpoint: &agent.Endpoint{}}
	tools := []execution.FrontendTool{{Name: "map"}}
	for want, overrides := range map[string]execution.Overrides{
		"agent 'far' backend does not support: overrides":                 {Model: "large"},
		"agent 'far' backend does not support: frontend_tools":            {FrontendTools: tools},
		"agent 'far' backend does not support: overrides, frontend_tools": {Instructions: "Be brief.", FrontendTools: tools},
	} {
		require.EqualError(t, validateRoot(far, overrides), want)
	}
	require.NoError(t, validateRoot(far, execution.Overrides{}))
	require.NoError(t, validateRoot(&agent.Definition{Name: "near"}, execution.Overrides{Model: "large", FrontendTools: tools}))
}
