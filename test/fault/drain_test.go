//go:build faultpoint

package fault

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const loaders = `
agents:
  loader:
    model:
      provider: scripted
      turns:
        - {delay: 700ms, toolCalls: [{name: lookup, arguments: {city: Oslo}}, {name: pay, arguments: {amount: 7}}]}
        - {delay: 700ms, toolCalls: [{name: lookup, arguments: {city: Bergen}}]}
        - {delay: 700ms, text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe}
`

const (
	// releaseBound is how soon a released execution must be claimed again.
	releaseBound = time.Second
	// slowWays is when a released execution would be claimed if its release told nobody: nothing that is lost on the short way
	// can pass for a slow machine.
	slowWays = time.Minute
)

func TestCasesA8A9D1_ARollingDeployUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]string{
		"nodes are finished within the drain time":                 "30s",
		"nodes that outlast the drain time are released and taken": "100ms",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rollingDeploy(t, drain)
		})
	}
}

// rollingDeploy replaces three workers one by one, as a deployment does: the new one starts, then the old one is asked to
// stop. The load keeps every worker busy, and leaves as much room as one worker gives.
func rollingDeploy(t *testing.T, drain string) {
	t.Helper()
	const load, concurrency = 75, "30"
	tools := harness.Tools(t)
	tools.Behave("/lookup", harness.After(30*time.Millisecond))
	stack := harness.New(t, harness.Config{
		Agents: agentsFor(tools, loaders), ClaimTTL: slowWays, Grace: slowWays,
		Env: map[string]string{"PAWL_DRAIN_TIMEOUT": drain, "PAWL_CONCURRENCY": concurrency},
	})
	api := stack.API()
	stack.Reaper()
	workers := []*harness.Process{stack.Worker(), stack.Worker(), stack.Worker()}
	ids := submitMany(t, api, "loader", load)
	watch := watchHandBacks(stack, ids)
	var stopped []time.Duration
	for i, worker := range workers {
		tools.WaitCalls(t, endTimeout, "", i*load*2/3+load/3) // in each of the three model requests
		stack.Worker()
		asked := time.Now()
		worker.StopCleanly()
		stopped = append(stopped, time.Since(asked).Round(time.Millisecond))
	}
	awaitTerminal(t, stack, ids, time.Minute)
	handBacks := watch.stop()
	for _, id := range ids {
		events := api.Events(id)
		harness.CheckLog(t, id, events)
		require.Zero(t, harness.CountWarnings(events, execution.WarningReclaimed), "a reclaim of %s", id)
		require.Equal(t, execution.Completed, api.Get(id).State)
	}
	harness.CheckOnce(t, tools, "/pay")
	harness.CheckEffectIDs(t, tools)
	if drain != "30s" {
		require.NotEmpty(t, handBacks, "the drain time was short: nodes must have been handed back")
	}
	reportHandBacks(t, drain, stopped, handBacks)
}

func reportHandBacks(t *testing.T, drain string, stopped []time.Duration, handBacks []time.Duration) {
	t.Helper()
	t.Logf("drain %s: workers ended after %v; %d executions handed back, 0 reclaims", drain, stopped, len(handBacks))
	if len(handBacks) == 0 {
		return
	}
	slices.Sort(handBacks)
	slowest := handBacks[len(handBacks)-1]
	t.Logf("from hand-back to next claim: median %v, slowest %v", handBacks[len(handBacks)/2], slowest)
	require.Less(t, handBacks[len(handBacks)/2], releaseBound)
	require.Less(t, slowest, slowWays/4, "on the long way")
}

// handBackWatch samples the holders of rows and measures how long a step that was handed back stood without a claim.
type handBackWatch struct {
	stack *harness.Stack
	ids   []execution.ID
	quit  chan struct{}
	group sync.WaitGroup
	taken []time.Duration
}

// sample is how a row was last seen with a holder.
type sample struct {
	holder harness.Holder
	seen   time.Time
}

func watchHandBacks(stack *harness.Stack, ids []execution.ID) *handBackWatch {
	w := &handBackWatch{stack: stack, ids: ids, quit: make(chan struct{})}
	w.group.Go(w.run)
	return w
}

func (w *handBackWatch) run() {
	last := make([]sample, len(w.ids))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-tick.C:
		}
		asked := time.Now()
		holders, err := w.stack.Holders(w.ids)
		if err != nil {
			continue
		}
		for i, holder := range holders {
			w.look(&last[i], holder, asked)
		}
	}
}

// look compares a row with how it was last seen: another fence at the same step is a step that was handed back. The time
// counts from the last look at the old claim, so it is never too short.
func (w *handBackWatch) look(last *sample, holder harness.Holder, asked time.Time) {
	if holder.Worker == "" {
		return
	}
	if last.holder.Worker != "" && last.holder.Step == holder.Step && last.holder.Fence != holder.Fence {
		w.taken = append(w.taken, time.Since(last.seen))
	}
	*last = sample{holder: holder, seen: asked}
}

func (w *handBackWatch) stop() []time.Duration {
	close(w.quit)
	w.group.Wait()
	return w.taken
}
