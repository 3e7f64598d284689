package mcptool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local/mcptool"
)

func TestApprovalsOfASetAreKnownBeforeItsServerIs(t *testing.T) {
	t.Parallel()
	declared := overHTTP(newFake("plain").http(t, nil))
	declared.Approval, declared.Sequential = agent.Approval{Always: true}, true
	declared.Approvals = map[string]agent.Approval{"echo": {}, "odd.name": {When: "arguments.n > 1.0"}}
	set := newSet(t, newServers(t, mcptool.Config{}), declared)
	look := func() {
		require.Equal(t, agent.Approval{}, set.Find("s_echo").Spec().Approval)
		require.Equal(t, agent.Approval{Always: true}, set.Find("s_meta").Spec().Approval)
		require.True(t, set.Find("s_meta").Spec().Sequential)
	}
	look()
	tools, err := set.Tools(t.Context())
	require.NoError(t, err)
	look()
	odd := 0
	for _, tool := range tools {
		if tool.Spec().Approval.When != "" {
			odd++
		}
	}
	require.Equal(t, 1, odd, "by the server's own name, whatever the model knows the tool by")
}

func TestApprovalOfAToolThatTheServerDoesNotHave(t *testing.T) {
	t.Parallel()
	declared := overHTTP(newFake("plain").http(t, nil))
	declared.Approvals = map[string]agent.Approval{"ecko": {Always: true}}
	_, err := newSet(t, newServers(t, mcptool.Config{}), declared).Tools(t.Context())
	failed(t, err, "permanent", "mcp_unknown_tool")
	require.ErrorContains(t, err, "ecko")
}
