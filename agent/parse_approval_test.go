package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

func TestParseApprovals(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("f.yaml", []byte(toolLines+`      - {name: a, type: http, url: 'http://h/', approval: never}
      - {name: b, type: http, url: 'http://h/', approval: always, sequential: true, expiresAfter: 1h}
      - {name: c, type: http, url: 'http://h/', approval: {when: "arguments.amount > 100", expiresAfter: 24h, onExpiry: fail}}
      - {name: d, type: client, approval: {expiresAfter: 90s}, expiresAfter: 5m, onExpiry: suspend, maxRetries: 3}
      - name: e
        type: mcp
        command: [x]
        approval: always
        approvals: {read: never, drop: {when: 'arguments.all'}}
`))
	require.NoError(t, err)
	definition, known := catalog.Agent("demo")
	require.True(t, known)
	tools := definition.Tools
	require.Zero(t, tools[0].Approval)
	require.Equal(t, agent.Approval{Always: true}, tools[1].Approval)
	require.True(t, tools[1].Sequential)
	require.Equal(t, time.Hour, tools[1].ExpiresAfter)
	require.Equal(t, execution.ExpireReject, tools[1].OnExpiry)
	require.Equal(t, agent.Approval{
		When: "arguments.amount > 100", ExpiresAfter: 24 * time.Hour, OnExpiry: execution.ExpireFail,
	}, tools[2].Approval)
	require.Equal(t, agent.ToolClient, tools[3].Type)
	require.Equal(t, agent.ReadOnly, tools[3].Recovery)
	require.Equal(t, execution.ExpireSuspend, tools[3].OnExpiry)
	require.Equal(t, agent.Approval{Always: true, ExpiresAfter: 90 * time.Second, OnExpiry: execution.ExpireReject}, tools[3].Approval)
	require.Equal(t, agent.Approval{}, tools[4].ApprovalOf("read"))
	require.Equal(t, agent.Approval{When: "arguments.all"}, tools[4].ApprovalOf("drop"))
	require.Equal(t, agent.Approval{Always: true}, tools[4].ApprovalOf("other"))
	decoded, err := agent.Decode(definition.Canonical())
	require.NoError(t, err)
	require.Equal(t, definition.Hash(), decoded.Hash())
}
