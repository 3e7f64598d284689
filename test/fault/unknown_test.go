//go:build faultpoint

package fault

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// payer pays with an unsafe tool; $CHOICE is its onUnknown.
const payer = `
agents:
  payer:
    model:
      provider: scripted
      turns:
        - toolCalls:
            - {name: lookup, arguments: {city: Oslo}}
            - {name: pay, arguments: {amount: 7}}
        - {text: "Paid."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe, onUnknown: $CHOICE, timeout: 120s}
`

func TestAnUnsafeCallOfAKilledWorkerIsNeverSentAgainOnItsOwn(t *testing.T) {
	t.Parallel()
	t.Run("cases B5, B7: a person approves, it is sent again with the same key", func(t *testing.T) {
		t.Parallel()
		run := interrupted(t, "ask")
		run.api.Decide(run.awaitQuestion(t), execution.Decision{Decision: execution.Approve})
		run.awaitEnd(t, execution.Completed, 2)
		require.Equal(t, run.tools.Calls("/pay")[0].Key, run.tools.Calls("/pay")[1].Key)
	})
	t.Run("cases B5, B7: a person answers, it is not sent again", func(t *testing.T) {
		t.Parallel()
		run := interrupted(t, "ask")
		answer := execution.Decision{Decision: execution.Answer, Answer: json.RawMessage(`{"receipt":"from the bank"}`)}
		run.api.Decide(run.awaitQuestion(t), answer)
		run.awaitEnd(t, execution.Completed, 1)
	})
	t.Run("cases B5, B7: a person rejects, the model is told that it failed", func(t *testing.T) {
		t.Parallel()
		run := interrupted(t, "ask")
		run.api.Decide(run.awaitQuestion(t), execution.Decision{Decision: execution.Reject, Reason: "not paid"})
		run.awaitEnd(t, execution.Completed, 1)
		require.True(t, run.payFailed(), "tool_completed says that the call failed")
	})
	t.Run("onUnknown tell_model goes on with an error result", func(t *testing.T) {
		t.Parallel()
		run := interrupted(t, "tell_model")
		run.awaitEnd(t, execution.Completed, 1)
		require.True(t, run.payFailed(), "tool_completed says that the call failed")
	})
	t.Run("onUnknown fail ends the execution", func(t *testing.T) {
		t.Parallel()
		run := interrupted(t, "fail")
		view := run.awaitEnd(t, execution.Failed, 1)
		require.Equal(t, execution.CodeOutcomeUnknown, view.Failure.Code)
	})
	t.Run("case K2: two people answer differently, the first one wins", answeredTwice)
}

// interruption is an execution whose worker was killed while an unsafe call was in flight, with another worker at work.
type interruption struct {
	stack *harness.Stack
	tools *harness.ToolServer
	api   *harness.API
	id    execution.ID
}

func interrupted(t *testing.T, choice string) *interruption {
	t.Helper()
	tools := harness.Tools(t)
	tools.Behave("/pay", harness.HangFirst)
	stack := harness.New(t, harness.Config{Agents: strings.ReplaceAll(agentsFor(tools, payer), "$CHOICE", choice)})
	run := &interruption{stack: stack, tools: tools, api: stack.API()}
	stack.Reaper()
	victim := stack.Worker()
	run.id = run.api.Submit("payer", "pay it").ID
	tools.WaitCalls(t, endTimeout, "/pay", 1)
	harness.Eventually(t, endTimeout, "the other call of the batch has its receipt", func() bool {
		return len(harness.Types(run.api.Events(run.id))) > 0 && run.completed("lookup")
	})
	victim.Kill()
	stack.Worker()
	return run
}

// completed reports whether a call of the tool has its receipt.
func (r *interruption) completed(name string) bool {
	for _, event := range r.api.Events(r.id) {
		if done, ok := event.Payload.(*execution.ToolCompleted); ok && done.Name == name {
			return true
		}
	}
	return false
}

func (r *interruption) payFailed() bool {
	for _, event := range r.api.Events(r.id) {
		if done, ok := event.Payload.(*execution.ToolCompleted); ok && done.Name == "pay" {
			return done.Failed
		}
	}
	return false
}

func (r *interruption) awaitQuestion(t *testing.T) execution.View {
	t.Helper()
	view := r.api.AwaitState(r.id, endTimeout, execution.WaitingForInput)
	require.NotNil(t, view.Interaction)
	require.Equal(t, execution.Approval, view.Interaction.Kind)
	require.Equal(t, execution.OutcomeUnknown, view.Interaction.Reason)
	require.Len(t, view.Interaction.Calls, 1)
	require.Equal(t, "pay", view.Interaction.Calls[0].Name)
	return view
}

func (r *interruption) awaitEnd(t *testing.T, state execution.State, sent int) execution.View {
	t.Helper()
	view := r.api.AwaitState(r.id, endTimeout, state)
	events := r.api.Events(r.id)
	harness.CheckLog(t, r.id, events)
	require.Equal(t, 1, harness.CountWarnings(events, execution.WarningReclaimed))
	require.Len(t, r.tools.Calls("/pay"), sent)
	require.Len(t, r.tools.Calls("/lookup"), 1, "case B6: a call with a receipt is never entered again")
	harness.CheckEffectIDs(t, r.tools)
	return view
}

func answeredTwice(t *testing.T) {
	t.Parallel()
	run := interrupted(t, "ask")
	view := run.awaitQuestion(t)
	decide := func(decision execution.DecisionKind) execution.Input {
		return execution.Input{
			Type: execution.ToolApproval, RequestID: view.Interaction.RequestID,
			Decisions: []execution.Decision{{CallID: view.Interaction.Calls[0].CallID, Decision: decision}},
		}
	}
	run.api.Input(run.id, "first", decide(execution.Reject))
	again := run.api.TryInput(run.id, "first", decide(execution.Reject))
	require.Equal(t, http.StatusOK, again.Status, "the very same input is replayed: %s", again.Body)
	other := run.api.TryInput(run.id, "second", decide(execution.Approve))
	require.Equal(t, http.StatusConflict, other.Status, "%s", other.Body)
	run.awaitEnd(t, execution.Completed, 1)
}
