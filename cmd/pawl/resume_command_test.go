package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// What is suspended for a limit stops again when it is resumed as it is, so the command that is told asks for more.
func TestTheCommandThatResumesNamesTheLimit(t *testing.T) {
	t.Parallel()
	const id = execution.ID("exec_1")
	for detail, more := range map[string]string{
		"maxCost (0.004000): 0.000000 are used, and the next request may need 0.004563": " --limits maxCost=MORE",
		"maxModelRequests (2)":                        " --limits maxModelRequests=MORE",
		"maxTotalTokens: the answer was cut off at 3": " --limits maxTotalTokens=MORE",
		"something else":                              "",
		"":                                            "",
	} {
		suspension := &execution.Suspension{Reason: execution.ReasonLimit, Detail: detail}
		require.Equal(t, self()+" resume exec_1"+more, resumeCommand(id, suspension), detail)
	}
	require.Equal(t, self()+" resume exec_1", resumeCommand(id, &execution.Suspension{Reason: execution.ReasonPaused, Detail: "maxCost (1)"}))
	require.Equal(t, self()+" resume exec_1", resumeCommand(id, nil))
}
