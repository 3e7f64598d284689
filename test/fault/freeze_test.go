//go:build faultpoint

package fault

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const sleepers = `
agents:
  caller:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: lookup, arguments: {city: Oslo}}]
        - {text: "Found."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent, timeout: 60s}
`

func TestAFrozenWorkerThatWakesChangesNothing(t *testing.T) {
	t.Parallel()
	t.Run("cases A20, B1: frozen in the node after before_model_request", func(t *testing.T) {
		t.Parallel()
		again := make(chan struct{})
		ask := sync.OnceFunc(func() { close(again) })
		model := holdModel(t, func(request int) {
			if request > 1 {
				ask()
			}
			<-again
		})
		stack := harness.New(t, harness.Config{Agents: model.agents})
		freezeInNode(t, stack, "thinker", func(id execution.ID) string { return model.awaitRequest(t, stack, id, 1).Node },
			"before_model_request")
	})
	t.Run("cases A20, B1: frozen in the node after tool_call", func(t *testing.T) {
		t.Parallel()
		tools := harness.Tools(t)
		tools.Behave("/lookup", answerWhenSentAgain())
		stack := harness.New(t, harness.Config{Agents: agentsFor(tools, sleepers)})
		freezeInNode(t, stack, "caller", func(id execution.ID) string {
			tools.WaitCalls(t, endTimeout, "/lookup", 1)
			return stack.Holder(id).Node
		}, "tool_call")
		harness.CheckEffectIDs(t, tools)
	})
}

// freezeInNode freezes a worker whose node asks somebody who answers only when he is asked again; within waits until he is
// asked.
func freezeInNode(t *testing.T, stack *harness.Stack, agent string, within func(execution.ID) string, node string) {
	t.Helper()
	api, reaper := stack.API(), stack.Reaper()
	frozen := stack.Worker()
	view := api.Submit(agent, "Oslo, please")
	require.Equal(t, node, within(view.ID))
	frozen.Freeze()
	frozenAt, span := time.Now(), stack.Span()
	claimed := stack.NextClaim(view.ID, stack.Holder(view.ID).Fence, endTimeout)
	stack.Worker()
	took := checkBound(t, stack, span, frozenAt, claimed)
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	reaper.StopCleanly()

	before, refusals := stack.Dump(), stack.Refusals("FENCED")
	frozen.Thaw()
	frozen.WaitLog(endTimeout, "superseded") // a write of its was refused, or it has read that it would be
	frozen.StopCleanly()                     // whatever it still wanted to write, it has tried
	harness.CheckDump(t, before, stack.Dump())
	events := api.Events(view.ID)
	harness.CheckLog(t, view.ID, events)
	require.Equal(t, 1, harness.CountWarnings(events, execution.WarningReclaimed))
	t.Logf("frozen after %s: next claim after %.3f s; %d writes of the woken worker refused; %d keys equal before and after",
		node, took.Seconds(), stack.Refusals("FENCED")-refusals, len(before))
}

// answerWhenSentAgain answers the first request of a call only when the call is sent a second time, so that the first
// sender gets a good answer to a call that is no longer its own.
func answerWhenSentAgain() harness.Behavior {
	again := make(chan struct{})
	return func(ctx context.Context, call harness.ToolCall) (int, string) {
		if call.Attempt > 1 {
			close(again)
			return 200, `{"ok":true}`
		}
		select {
		case <-again:
		case <-ctx.Done():
		}
		return 200, `{"ok":true}`
	}
}

func TestCaseA18_ANodeMayRunManyTimesLongerThanItsClaim(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	tools.Behave("/lookup", harness.After(7*time.Second))
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, sleepers)})
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	stack.Worker()
	view := api.Submit("caller", "Oslo, please")
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	require.Zero(t, harness.CountWarnings(api.Events(view.ID), execution.WarningReclaimed))
	require.Len(t, tools.Calls("/lookup"), 1)
}
