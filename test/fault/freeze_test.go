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

const sleepers = `
agents:
  thinker:
    model: {provider: scripted, turns: [{delay: 1500ms, text: "Thought."}]}
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
	for agent, node := range map[string]string{"thinker": "before_model_request", "caller": "tool_call"} {
		t.Run("cases A20, B1: frozen in the node after "+node, func(t *testing.T) {
			t.Parallel()
			freezeInNode(t, agent, node)
		})
	}
}

func freezeInNode(t *testing.T, agent, node string) {
	t.Helper()
	tools := harness.Tools(t)
	tools.Behave("/lookup", answerWhenSentAgain())
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, sleepers)})
	api, reaper := stack.API(), stack.Reaper()
	frozen := stack.Worker()
	view := api.Submit(agent, "Oslo, please")
	harness.Eventually(t, endTimeout, "the first worker is in the node", func() bool {
		holder := stack.Holder(view.ID)
		return holder.Worker != "" && holder.Node == node
	})
	if agent == "caller" {
		tools.WaitCalls(t, endTimeout, "/lookup", 1)
	}
	frozen.Freeze()
	frozenAt := time.Now()
	claimed := stack.NextClaim(view.ID, stack.Holder(view.ID).Fence, endTimeout)
	stack.Worker()
	took := checkBound(t, stack, frozenAt, claimed)
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
	harness.CheckEffectIDs(t, tools)
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
