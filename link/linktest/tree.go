package linktest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Spawn starts a child for a call of the execution.
func (w *Worker) Spawn(call execution.CallID) execution.ID {
	w.t.Helper()
	answer, err := w.store.Spawn(context.Background(), journal.Spawn{
		Hold: journal.Hold{Execution: w.id, Fence: w.claim.Fence},
		Child: journal.NewExecution{
			ID: execution.ChildID(w.id, call), ConversationID: execution.ChildConversationID(w.id, call),
			Parent: &journal.Parent{Execution: w.id, Call: call}, Request: execution.CreateRequest{Agent: "other"},
			Checkpoint: []byte(`{"v":1}`), Node: "run_start",
		},
	})
	require.NoError(w.t, err)
	return answer.Execution.ID
}

// AwaitChildren parks the execution until the calls' children have ended.
func (w *Worker) AwaitChildren(calls ...execution.CallID) {
	w.t.Helper()
	then := journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild}
	for _, call := range calls {
		then.Await = append(then.Await, execution.ChildRequest(call))
	}
	w.Commit(then)
}

func viewTree(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	one, two := w.Spawn("call_0_0"), w.Spawn("call_0_1")
	w.AwaitChildren("call_0_0", "call_0_1")
	Claim(t, h.Store, one).Complete("one")
	view, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	want := []execution.Child{
		{ID: one, Call: "call_0_0", Agent: "other", State: execution.Completed},
		{ID: two, Call: "call_0_1", Agent: "other", State: execution.Queued},
	}
	require.Equal(t, want, view.Children)
	require.Nil(t, view.Parent)
	require.Equal(t, &execution.Wait{Kind: execution.WaitChild}, view.Wait)
	waited, err := h.Local().Wait(bounded(t), id, 0, 0)
	require.NoError(t, err)
	require.Equal(t, want, waited.Children)

	child, err := h.Local().Execution(bounded(t), two)
	require.NoError(t, err)
	require.Equal(t, &execution.Parent{Execution: id, Call: "call_0_1"}, child.Parent)
	require.Empty(t, child.Children)
	page, err := h.Local().List(bounded(t), execution.ListQuery{})
	require.NoError(t, err)
	require.Len(t, page.Executions, 3)
	for _, listed := range page.Executions {
		require.Empty(t, listed.Children, "a listing names the parent alone")
		require.Equal(t, listed.ID != id, listed.Parent != nil)
	}
	require.NoError(t, h.Local().Delete(bounded(t), one))
	view, err = h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, execution.Child{ID: one, Call: "call_0_0"}, view.Children[0])
}

func cancelTree(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	child := w.Spawn("call_0_0")
	w.AwaitChildren("call_0_0")
	steered, err := h.Local().Cancel(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, execution.Canceled, steered.View.State)
	view, err := h.Local().Execution(bounded(t), child)
	require.NoError(t, err)
	require.True(t, view.CancelRequested)
	why := h.why(t, child)
	require.Equal(t, execution.WaitsForCancel, why.WaitingFor)
	require.Contains(t, why.Detail, "Its parent has ended")
	require.NotNil(t, why.Next)
}

func whyTree(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	one, two := w.Spawn("call_0_0"), w.Spawn("call_0_1")
	w.AwaitChildren("call_0_0", "call_0_1")
	why := h.why(t, id)
	require.Equal(t, execution.WaitsForChild, why.WaitingFor)
	require.Len(t, why.Children, 2)
	require.Contains(t, why.Detail, "2 of its 2 children have not ended")
	Claim(t, h.Store, one).Complete("one")
	Claim(t, h.Store, two)
	why = h.why(t, id)
	require.Equal(t, []execution.Child{{ID: two, Call: "call_0_1", Agent: "other", State: execution.Running}}, why.Children)
	require.Contains(t, why.Detail, "1 of its 2 children have not ended")
	require.Contains(t, why.Detail, string(two)+" (other)")
	require.Contains(t, why.Detail, "Of the first: A worker is at work on it")
}

func whyNeeds(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	one, two, three := w.Spawn("call_0_0"), w.Spawn("call_0_1"), w.Spawn("call_0_2")
	w.AwaitChildren("call_0_0", "call_0_1", "call_0_2")
	require.Empty(t, h.why(t, id).Needs, "nobody has taken them yet")
	middle := Claim(t, h.Store, two)
	below := middle.Spawn("call_0_0")
	middle.AwaitChildren("call_0_0")
	question := Elicitation("question")
	Claim(t, h.Store, below).Ask(question)
	stop := execution.Suspension{Reason: execution.ReasonLimit, Detail: "maxTurns (1)"}
	Claim(t, h.Store, three).Suspend(stop)
	Claim(t, h.Store, one)

	resume := execution.WhyNeed{Execution: three, Agent: "other", Suspension: &stop}
	answer := execution.WhyNeed{Execution: below, Agent: "other", Interaction: &question}
	why := h.why(t, id)
	require.Equal(t, execution.WaitsForChild, why.WaitingFor)
	require.Equal(t, []execution.WhyNeed{resume, answer}, why.Needs)
	require.Contains(t, why.Detail, `A person is needed: `+string(three)+` (other) is suspended, limit; `+string(below)+` (other) asks "Book it?".`)
	require.NotContains(t, why.Detail, "Of the first")
	require.Equal(t, []execution.WhyNeed{answer}, h.why(t, two).Needs)
	require.Contains(t, h.why(t, two).Detail, "Its child has not ended, and its result lets it go on: "+string(below)+" (other).")
	require.Equal(t, []execution.WhyNeed{answer}, h.why(t, below).Needs, "it says of itself what its parents say of it")
	require.Equal(t, []execution.WhyNeed{resume}, h.why(t, three).Needs)
	require.Empty(t, h.why(t, one).Needs, "a worker has it")

	_, err := h.Local().SubmitInput(bounded(t), below, Answer("op-1", "question", "yes"))
	require.NoError(t, err)
	_, err = h.Local().Resume(bounded(t), three, execution.ResumeRequest{})
	require.NoError(t, err)
	require.Empty(t, h.why(t, id).Needs)
	_, err = h.Local().Cancel(bounded(t), id)
	require.NoError(t, err)
	require.Empty(t, h.why(t, below).Needs, "nobody's answer lets it go on")
}

func whyCleanup(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	cleanup := []byte("task-secret")
	_, err := h.Store.Commit(context.Background(), journal.Commit{
		Hold: journal.Hold{Execution: id, Fence: w.claim.Fence}, Node: "before_model_request", Checkpoint: []byte(`{"v":1}`),
		Cleanup: &cleanup, Then: journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: time.Minute},
	})
	require.NoError(t, err)
	require.Equal(t, execution.WaitsForRemote, h.why(t, id).WaitingFor)
	_, err = h.Local().Cancel(bounded(t), id)
	require.NoError(t, err)
	why := h.why(t, id)
	require.Equal(t, execution.Canceled, why.State)
	require.Equal(t, execution.WaitsForCleanup, why.WaitingFor)
	require.Contains(t, why.Detail, "Its clean-up is open")
	require.NotContains(t, why.Detail, "secret")
	require.NotNil(t, why.Next)
	_, err = h.Store.CompleteCleanup(context.Background(), id, cleanup)
	require.NoError(t, err)
	require.Equal(t, execution.WaitsForNothing, h.why(t, id).WaitingFor)
}
