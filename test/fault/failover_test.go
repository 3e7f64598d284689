//go:build faultpoint

package fault

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/test/harness"
)

// replaced is a Redis of several servers, one of which is about to be replaced by its replica.
type replaced struct {
	url     string
	rdb     redis.UniversalClient
	written *redis.Client // to the server that will be replaced
	replica *redistest.Server
	replace func(t *testing.T)
}

var durable = []string{"--appendonly", "yes", "--appendfsync", "everysec"}

// failovers are the ways in which a replica takes the place of a primary.
func failovers() map[string]func(t *testing.T) replaced {
	return map[string]func(t *testing.T) replaced{
		"the primary behind a Sentinel dies": func(t *testing.T) replaced {
			t.Helper()
			p := redistest.StartPair(t, durable...)
			return replaced{
				url: p.URL(), rdb: p.Client(t), written: p.Primary.Client(t), replica: p.Replica,
				replace: func(*testing.T) { p.Primary.Kill() },
			}
		},
		"a Sentinel is told to switch": func(t *testing.T) replaced {
			t.Helper()
			p := redistest.StartPair(t, durable...)
			return replaced{
				url: p.URL(), rdb: p.Client(t), written: p.Primary.Client(t), replica: p.Replica,
				replace: func(t *testing.T) { t.Helper(); require.NoError(t, p.Switch(t.Context())) },
			}
		},
		"a master of a Cluster dies": func(t *testing.T) replaced {
			t.Helper()
			return cluster(t, (*redistest.Server).Kill)
		},
		"a master of a Cluster hangs": func(t *testing.T) replaced {
			t.Helper()
			return cluster(t, (*redistest.Server).Pause)
		},
	}
}

// cluster is a Cluster of three masters, the first of which has a replica and will be struck.
func cluster(t *testing.T, strike func(*redistest.Server)) replaced {
	t.Helper()
	c := redistest.StartCluster(t, durable...)
	replica := c.AddReplica(t, 0)
	return replaced{
		url: c.URL(), rdb: c.Client(t), written: c.Masters[0].Client(t), replica: replica,
		replace: func(*testing.T) { strike(c.Masters[0]) },
	}
}

// Replication is asynchronous: the last writes of the old primary may be gone, and steps that were committed run again. What
// was submitted has reached the replica before, so all of it must end, each log whole, each call with its effect id.
func TestCasesH3H4_AFailoverUnderLoadLosesNoExecution(t *testing.T) {
	t.Parallel()
	for name, start := range failovers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failOver(t, start(t))
		})
	}
}

func failOver(t *testing.T, r replaced) {
	t.Helper()
	const load = 60
	tools := harness.Tools(t)
	tools.Behave("/lookup", harness.After(50*time.Millisecond))
	stack := harness.On(t, harness.Config{
		Agents: agentsFor(tools, replicatedAgent), Env: map[string]string{"PAWL_CONCURRENCY": "8"},
	}, r.url, r.rdb)
	api := stack.API()
	programs := []*harness.Process{api.Process, stack.Reaper(), stack.Worker(), stack.Worker()}
	ids := submitMany(t, api, "replicated", load)
	acknowledged, err := r.written.Wait(t.Context(), 1, endTimeout).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, acknowledged)
	tools.WaitCalls(t, endTimeout, "", load/2)
	r.replace(t)
	harness.Eventually(t, 2*endTimeout, "the replica is promoted", func() bool {
		promoted, err := r.replica.Promoted(context.Background())
		return err == nil && promoted
	})
	promoted := time.Now()
	harness.Eventually(t, 2*endTimeout, "every execution ends", func() bool { // all in one look: an end may be among what was lost
		states, err := fields(stack, ids, "state")
		return err == nil && !slices.ContainsFunc(states, func(state string) bool { return !execution.State(state).Terminal() })
	})
	t.Logf("all ended %.1f s after the replica was promoted", time.Since(promoted).Seconds())
	for _, program := range programs {
		require.True(t, program.Running(), "%s outlives the primary", program.Name)
	}
	reclaims := checkCompleted(t, api, ids)
	harness.CheckEffectIDs(t, tools)
	t.Logf("%d reclaims, %d tool calls for %d calls planned", reclaims, len(tools.Calls("")), 3*load)
}

const replicatedAgent = `
agents:
  replicated:
    model:
      provider: scripted
      turns:
        - {delay: 100ms, toolCalls: [{name: lookup, arguments: {city: Oslo}}, {name: pay, arguments: {amount: 7}}]}
        - {delay: 100ms, toolCalls: [{name: lookup, arguments: {city: Bergen}}]}
        - {delay: 100ms, text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: idempotent}
`
