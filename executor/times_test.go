package executor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// What stands between the claim and the time of a boundary is what the node before it took.
func TestCheckpointsTellHowLongTheirNodesTook(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"each node claimed": nil, "eight nodes to a claim": func(c *Config) { c.NodesPerTask = 8 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				slow := tool("slow", agent.Idempotent, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
					<-time.After(2 * time.Second)
					return says("done")(ctx, call)
				})
				w := newWorld(t, &agent.Definition{}, &local.Kit{
					Model: script(calling("slow"), text("Booked.")), Tools: []local.Tool{slow},
				}, change)
				require.Equal(t, execution.Completed, w.drive().State)
				stored, err := w.store.Checkpoints(t.Context(), w.id, 0, 100)
				require.NoError(t, err)
				require.Zero(t, stored[0].ClaimedAtMs, "nobody had claimed it")
				for step := 1; step < len(stored); step++ {
					one, before := stored[step], stored[step-1]
					require.NotZero(t, one.ClaimedAtMs, step)
					took := one.AtMs - max(one.ClaimedAtMs, before.AtMs)
					if w.nodes()[step] == ToolReturn {
						require.GreaterOrEqual(t, took, int64(2000), step)
					} else {
						require.Less(t, took, int64(1000), step)
					}
				}
			})
		})
	}
}
