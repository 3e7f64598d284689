package linktest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// lead submits an execution with limits, and takes it.
func lead(t *testing.T, h Harness, limits execution.Limits) *Worker {
	t.Helper()
	request := Request("hello")
	request.Agent, request.Limits = "lead", &limits
	created, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	return Claim(t, h.Store, created.View.ID)
}

// SpawnWith starts a child of the agent demo with a share of the limits.
func (w *Worker) SpawnWith(call execution.CallID, limits execution.Limits) execution.ID {
	w.t.Helper()
	ctx := context.Background()
	definition, found := Catalog(w.t).Agent("demo")
	require.True(w.t, found)
	require.NoError(w.t, w.store.PutDefinition(ctx, definition.Hash(), definition.Canonical()))
	answer, err := w.store.Spawn(ctx, journal.Spawn{
		Hold: journal.Hold{Execution: w.id, Fence: w.claim.Fence},
		Child: journal.NewExecution{
			ID: execution.ChildID(w.id, call), ConversationID: execution.ChildConversationID(w.id, call),
			Parent:     &journal.Parent{Execution: w.id, Call: call},
			Request:    execution.CreateRequest{Agent: definition.Name, Limits: &limits},
			Definition: definition.Hash(), Checkpoint: []byte(`{"v":1}`), Node: "run_start",
		},
	})
	require.NoError(w.t, err)
	return answer.Execution.ID
}

// spends commits a step by which the execution has used so much.
func (w *Worker) spends(usage execution.Usage, then journal.Then) {
	w.t.Helper()
	_, err := w.store.Commit(context.Background(), journal.Commit{
		Hold: journal.Hold{Execution: w.id, Fence: w.claim.Fence}, Step: w.claim.Execution.Step, Node: "model_response",
		Checkpoint: []byte(`{"v":1}`), Usage: usage, Then: then,
	})
	require.NoError(w.t, err)
	if then.Kind == journal.ThenContinue {
		w.again()
	}
}

// awaits parks the execution until the calls' children have ended; it has used so much.
func (w *Worker) awaits(usage execution.Usage, calls ...execution.CallID) {
	w.t.Helper()
	then := journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild}
	for _, call := range calls {
		then.Await = append(then.Await, execution.ChildRequest(call))
	}
	w.spends(usage, then)
}

func (w *Worker) completes(usage execution.Usage) {
	w.t.Helper()
	w.spends(usage, journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "done"}})
}

// moreThanItsShare asks for limits that are refused, and changes nothing.
func moreThanItsShare(t *testing.T, h Harness, id execution.ID, limits execution.Limits, field, says string) {
	t.Helper()
	unchanged(t, h, func() {
		_, err := h.Local().Resume(bounded(t), id, execution.ResumeRequest{Limits: &limits})
		Refused(t, err, execution.Conflict, field)
		require.ErrorContains(t, err, says)
	})
}

func resumesWith(t *testing.T, h Harness, id execution.ID, limits execution.Limits) {
	t.Helper()
	steered, err := h.Local().Resume(bounded(t), id, execution.ResumeRequest{Limits: &limits})
	require.NoError(t, err)
	require.True(t, steered.Changed)
}

func resumeShare(t *testing.T, h Harness) {
	const field = "limits.maxModelRequests"
	w := lead(t, h, execution.Limits{MaxModelRequests: 10, MaxToolCalls: 8})
	w.spends(execution.Usage{Requests: 2}, journal.Then{Kind: journal.ThenContinue})
	mine := execution.Limits{MaxModelRequests: 4, MaxToolCalls: 3, MaxTotalTokens: 100}
	one, two := w.SpawnWith("call_0_0", mine), w.SpawnWith("call_0_1", mine)
	stopAgain(t, h, one)
	moreThanItsShare(t, h, one, execution.Limits{MaxModelRequests: 5}, field, "is still at the turn that started this one")
	resumesWith(t, h, one, execution.Limits{MaxTotalTokens: 500}) // of which its parent has no limit
	stopAgain(t, h, one)
	w.awaits(execution.Usage{Requests: 2}, "call_0_0", "call_0_1")

	moreThanItsShare(t, h, one, execution.Limits{MaxModelRequests: 5}, field, "of its parent "+string(w.id)+" at most 4 are left for it: pause the parent and resume it with a higher limit")
	moreThanItsShare(t, h, one, execution.Limits{MaxToolCalls: 4}, "limits.maxToolCalls", "at most 3")
	resumesWith(t, h, one, execution.Limits{MaxModelRequests: 4, MaxTurns: 50})
	stopAgain(t, h, one)
	Claim(t, h.Store, two).completes(execution.Usage{Requests: 1})
	moreThanItsShare(t, h, one, execution.Limits{MaxModelRequests: 8}, field, "at most 7 are left")
	resumesWith(t, h, one, execution.Limits{MaxModelRequests: 7})
	stopAgain(t, h, one)

	_, err := h.Local().Pause(bounded(t), w.id)
	require.NoError(t, err)
	moreThanItsShare(t, h, one, execution.Limits{MaxModelRequests: 8}, field, "at most 7 are left")
	resumesWith(t, h, w.id, execution.Limits{MaxModelRequests: 20})
	moreThanItsShare(t, h, one, execution.Limits{MaxModelRequests: 18}, field, "at most 17 are left")
	resumesWith(t, h, one, execution.Limits{MaxModelRequests: 17})
	unchanged(t, h, func() {
		steered, err := h.Local().Resume(bounded(t), one, execution.ResumeRequest{Limits: &execution.Limits{MaxModelRequests: 99}})
		require.NoError(t, err)
		require.False(t, steered.Changed, "it is not suspended")
	})
}

func resumeShareOfLaterTurns(t *testing.T, h Harness) {
	w := lead(t, h, execution.Limits{MaxModelRequests: 10})
	w.Plan("call_0_0")
	first := w.SpawnWith("call_0_0", execution.Limits{MaxModelRequests: 5})
	Claim(t, h.Store, first).completes(execution.Usage{Requests: 5})
	w.Receive("call_0_0", `{"callId":"call_0_0"}`, false)
	w.spends(execution.Usage{Requests: 6}, journal.Then{Kind: journal.ThenContinue}) // with the five of the first
	second := w.SpawnWith("call_1_0", execution.Limits{MaxModelRequests: 2})
	w.awaits(execution.Usage{Requests: 6}, "call_1_0")
	stopAgain(t, h, second)
	moreThanItsShare(t, h, second, execution.Limits{MaxModelRequests: 5}, "limits.maxModelRequests", "at most 4 are left")
	resumesWith(t, h, second, execution.Limits{MaxModelRequests: 4})

	// A child of the child is bound by what that has.
	below := Claim(t, h.Store, second)
	below.spends(execution.Usage{Requests: 1}, journal.Then{Kind: journal.ThenContinue})
	third := below.SpawnWith("call_0_0", execution.Limits{MaxModelRequests: 1})
	below.awaits(execution.Usage{Requests: 1}, "call_0_0")
	stopAgain(t, h, third)
	moreThanItsShare(t, h, third, execution.Limits{MaxModelRequests: 4}, "limits.maxModelRequests", string(second)+" at most 3 are left")
	resumesWith(t, h, third, execution.Limits{MaxModelRequests: 3})
}
