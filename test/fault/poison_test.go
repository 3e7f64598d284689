//go:build faultpoint

package fault

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const poisoned = `
agents:
  poison:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: crash, arguments: {}}]
        - {text: "Survived."}
    tools:
      - {name: crash, type: http, url: "$TOOLS/crash", recovery: idempotent, timeout: 60s}
  neighbor:
    model:
      provider: scripted
      turns:
        - {delay: 300ms, toolCalls: [{name: lookup, arguments: {city: Oslo}}]}
        - {delay: 300ms, toolCalls: [{name: lookup, arguments: {city: Bergen}}]}
        - {delay: 300ms, text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
`

const maxReclaims = 5 // the default of PAWL_MAX_RECLAIMS

// The tool of the poisoned step makes the test kill the worker that called it, each time it is called: a step that takes
// its worker with it.
func TestCaseC3_AStepThatKillsItsWorkerIsQuarantinedAndItsNeighborsGoOn(t *testing.T) {
	t.Parallel()
	const neighbors = 40
	tools := harness.Tools(t)
	crashes := make(chan struct{}, 100)
	tools.Behave("/crash", func(ctx context.Context, _ harness.ToolCall) (int, string) {
		crashes <- struct{}{}
		<-ctx.Done()
		return 200, ""
	})
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, poisoned), ClaimTTL: time.Second})
	api := stack.API()
	stack.Reaper()
	poison := api.Submit("poison", "go")
	ids := submitMany(t, api, "neighbor", neighbors)

	kills := 0
	for deadline := time.Now().Add(2 * time.Minute); api.Get(poison.ID).State != execution.Suspended; {
		require.True(t, time.Now().Before(deadline), "it was never quarantined; %d workers were killed", kills)
		worker := stack.Worker()
		if !awaitCrash(crashes, func() bool { return api.Get(poison.ID).State == execution.Suspended }) {
			break
		}
		worker.Kill()
		kills++
	}
	require.Equal(t, maxReclaims+1, kills, "it took as many workers with it as there may be reclaims, and the first one")
	checkQuarantined(t, stack, api, poison.ID)
	awaitTerminal(t, stack, ids, time.Minute)
	worst := 0
	for _, id := range ids {
		events := api.Events(id)
		harness.CheckLog(t, id, events)
		require.Equal(t, execution.Completed, api.Get(id).State)
		worst = max(worst, harness.CountWarnings(events, execution.WarningReclaimed))
	}
	harness.CheckEffectIDs(t, tools)
	t.Logf("quarantined after %d killed workers; %d neighbors completed, the worst with %d reclaims",
		kills, neighbors, worst)
}

// awaitCrash waits for the next call of the poisoned step; false when over becomes true first.
func awaitCrash(crashes <-chan struct{}, over func() bool) bool {
	crashed := false
	harness.Poll(endTimeout, func() bool {
		select {
		case <-crashes:
			crashed = true
		default:
		}
		return crashed || over()
	})
	return crashed
}

func checkQuarantined(t *testing.T, stack *harness.Stack, api *harness.API, id execution.ID) {
	t.Helper()
	view := api.AwaitState(id, endTimeout, execution.Suspended)
	require.NotNil(t, view.Suspension)
	require.Equal(t, execution.ReasonQuarantined, view.Suspension.Reason)
	require.Contains(t, view.Suspension.Detail, "tool_call", "it names the node")
	events := api.Events(id)
	require.Equal(t, execution.TypeExecutionSuspended, events[len(events)-1].Payload.EventType())
	require.Equal(t, maxReclaims, harness.CountWarnings(events, execution.WarningReclaimed))
	require.Empty(t, stack.Holder(id).Worker, "nobody holds it")
}
