//go:build faultpoint

package fault

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const outliving = `
agents:
  outliving:
    model:
      provider: scripted
      turns:
        - {delay: 100ms, toolCalls: [{name: lookup, arguments: {city: Oslo}}, {name: pay, arguments: {amount: 7}}]}
        - {delay: 100ms, toolCalls: [{name: lookup, arguments: {city: Bergen}}]}
        - {delay: 100ms, text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe, onUnknown: tell_model}
`

func TestCasesA10B2_ARedisKilledAndRestartedUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	const load, crashes = 100, 2
	tools := harness.Tools(t)
	tools.Behave("/lookup", harness.After(50*time.Millisecond))
	stack := harness.New(t, harness.Config{
		Agents: agentsFor(tools, outliving), Redis: []string{"--appendonly", "yes", "--appendfsync", "always"},
		Env: map[string]string{"PAWL_CONCURRENCY": "8"},
	})
	api := stack.API()
	programs := []*harness.Process{api.Process, stack.Reaper(), stack.Worker(), stack.Worker()}
	ids := submitMany(t, api, "outliving", load)
	for crash := range crashes {
		tools.WaitCalls(t, endTimeout, "", (crash+1)*load/2)
		stack.RestartRedis()
	}
	restarted := time.Now()
	awaitTerminal(t, stack, ids, time.Minute)
	t.Logf("Redis killed %d times while %d executions ran: all ended %.1f s after the last restart",
		crashes, load, time.Since(restarted).Seconds())
	for _, program := range programs {
		require.True(t, program.Running(), "%s outlives Redis", program.Name)
	}
	reclaims := checkCompleted(t, api, ids)
	harness.CheckOnce(t, tools, "/pay")
	harness.CheckEffectIDs(t, tools)
	t.Logf("%d reclaims, %d tool calls for %d calls planned", reclaims, len(tools.Calls("")), 3*load)
}

// checkCompleted asserts that each execution completed and that its log is whole, and counts the reclaims.
func checkCompleted(t *testing.T, api *harness.API, ids []execution.ID) (reclaims int) {
	t.Helper()
	for _, id := range ids {
		events := api.Events(id)
		harness.CheckLog(t, id, events)
		reclaims += harness.CountWarnings(events, execution.WarningReclaimed)
		require.Equal(t, execution.Completed, api.Get(id).State)
	}
	return reclaims
}
