//go:build faultpoint

package fault

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// outage is longer than a claim: every worker's trust ends while Redis does not answer.
const outage = 4 * time.Second

func TestAWorkerStopsItsNodeWhenItCanNoLongerTrustItsClaim(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	tools.Behave("/slow", harness.HangFirst)
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, distrustful)})
	api := stack.API()
	stack.Reaper()
	worker := stack.Worker()
	view := api.Submit("distrustful", "Oslo, please")
	tools.WaitCalls(t, endTimeout, "/slow", 1)
	stack.Server.Pause()
	paused, span := time.Now(), stack.Span()
	harness.Eventually(t, endTimeout, "the call in flight is closed", func() bool { return tools.Calls("/slow")[0].Closed })
	closed := tools.Calls("/slow")[0].Ended.Sub(paused)
	span.Within(t, closed, stack.Config.ClaimTTL, "the end of the call, before the claim can be another's,")
	harness.Eventually(t, endTimeout, "the outage lasts", func() bool { return time.Since(paused) > outage })
	stack.Server.Resume()
	resumed := time.Now()
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	events := api.Events(view.ID)
	harness.CheckLog(t, view.ID, events)
	require.True(t, worker.Running())
	harness.CheckEffectIDs(t, tools)
	t.Logf("Redis paused: call closed after %.3f s; completed %.3f s after it went on, %d reclaims", closed.Seconds(),
		time.Since(resumed).Seconds(), harness.CountWarnings(events, execution.WarningReclaimed))
}

const distrustful = `
agents:
  distrustful:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: slow, arguments: {city: Oslo}}]
        - {text: "Found."}
    tools:
      - {name: slow, type: http, url: "$TOOLS/slow", recovery: idempotent, timeout: 120s}
`
