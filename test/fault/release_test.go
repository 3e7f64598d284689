//go:build faultpoint

package fault

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// longClaim is a claim that no test waits for.
const longClaim = 5 * time.Minute

// releaseByOperator releases the execution and expects the status.
func releaseByOperator(t *testing.T, api *harness.API, id execution.ID, status int) {
	t.Helper()
	answer, err := api.Do(context.Background(), http.MethodPost, "/v1/executions/"+string(id)+"/release", nil, nil)
	require.NoError(t, err)
	require.Equal(t, status, answer.Status, string(answer.Body))
}

// Cases A7 and D2: the holder is frozen with a claim that still lasts for minutes, and no other worker lives. An operator
// releases the execution, another worker ends it, and the first one wakes and writes nothing.
func TestCaseA7_AFrozenHolderIsReleasedAndRefusedWhenItWakes(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	tools.Behave("/lookup", answerWhenSentAgain())
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, sleepers), ClaimTTL: longClaim})
	api, reaper := stack.API(), stack.Reaper()
	frozen := stack.Worker()
	view := api.Submit("caller", "Oslo, please")
	tools.WaitCalls(t, endTimeout, "/lookup", 1)
	frozen.Freeze()
	releaseByOperator(t, api, view.ID, http.StatusAccepted)
	releaseByOperator(t, api, view.ID, http.StatusOK)
	stack.Worker()
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	reaper.StopCleanly()

	before, refusals := stack.Dump(), stack.Refusals("FENCED")
	frozen.Thaw()
	frozen.WaitLog(endTimeout, "superseded")
	frozen.StopCleanly()
	harness.CheckDump(t, before, stack.Dump())
	events := api.Events(view.ID)
	harness.CheckLog(t, view.ID, events)
	require.Equal(t, 1, harness.CountWarnings(events, execution.WarningReleased))
	require.Zero(t, harness.CountWarnings(events, execution.WarningReclaimed))
	harness.CheckEffectIDs(t, tools)
	t.Logf("%d writes of the woken worker refused; %d keys equal before and after", stack.Refusals("FENCED")-refusals, len(before))
}

const hangers = `
agents:
  careful:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: pay, arguments: {amount: 5}}]
        - {text: "Paid."}
    tools:
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe, timeout: 10m}
`

// Cases A7 and D2: the worker lives and renews its claim, and its tool hangs. Released, its node is canceled at once, and
// what became of the call is unknown, as after a crash: it is not sent again.
func TestCaseD2_AHungToolIsReleasedAndItsOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	closed := make(chan struct{}, 1)
	tools.Behave("/pay", func(ctx context.Context, _ harness.ToolCall) (int, string) {
		<-ctx.Done()
		closed <- struct{}{}
		return 200, `{"ok":true}`
	})
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, hangers), ClaimTTL: time.Second})
	api := stack.API()
	stack.Reaper()
	worker := stack.Worker()
	view := api.Submit("careful", "Pay it.")
	tools.WaitCalls(t, endTimeout, "/pay", 1)
	held := stack.Holder(view.ID).Fence
	since := time.Now()
	harness.Eventually(t, endTimeout, "the claim was renewed beyond its time", func() bool {
		require.Equal(t, held, stack.Holder(view.ID).Fence)
		return time.Since(since) > 3*stack.Config.ClaimTTL
	})
	released, span := time.Now(), stack.Span()
	releaseByOperator(t, api, view.ID, http.StatusAccepted)
	select {
	case <-closed:
		took := time.Since(released)
		span.Within(t, took, stopBound, "the end of the request in flight")
		t.Logf("the request in flight was closed %.3f s after the release", took.Seconds())
	case <-time.After(endTimeout):
		t.Fatal("the hung node was not canceled")
	}
	asking := api.AwaitState(view.ID, endTimeout, execution.WaitingForInput)
	require.Equal(t, execution.OutcomeUnknown, asking.Interaction.Reason)
	require.Len(t, tools.Calls("/pay"), 1, "it is not sent again")
	api.Decide(asking, execution.Decision{Decision: execution.Answer, Answer: []byte(`{"paid":true}`)})
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	worker.StopCleanly()
	events := api.Events(view.ID)
	harness.CheckLog(t, view.ID, events)
	require.Equal(t, 1, harness.CountWarnings(events, execution.WarningReleased))
	require.Zero(t, harness.CountWarnings(events, execution.WarningReclaimed))
	require.Len(t, tools.Calls("/pay"), 1)
}
