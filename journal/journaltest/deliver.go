package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// results are the children's results that a claim of the parent brings.
func (a *actor) results() map[execution.RequestID]journal.ChildResult {
	a.b.t.Helper()
	found := map[execution.RequestID]journal.ChildResult{}
	for _, entry := range a.claimed.Inbox {
		result, err := journal.DecodeChildResult(entry.Payload)
		require.NoError(a.b.t, err)
		found[entry.RequestID] = result
	}
	return found
}

func deliverWakes(t *testing.T, b *bench) {
	a := b.planned()
	child := a.spawn(theCall)
	require.Empty(t, a.awaits(theCall).Tasks)
	require.Equal(t, &execution.Wait{Kind: execution.WaitChild}, a.row().Wait)
	child.claim()
	before := a.row()
	answer := child.commit(completeWith("done"))
	require.Equal(t, []execution.Task{{Execution: a.id, Step: 2, Wake: before.Wake + 1, Queue: "default"}}, answer.Tasks)
	row := a.row()
	require.Nil(t, row.Wait)
	require.Equal(t, before.Version+1, row.Version)
	require.Equal(t, before.LastSequence, row.LastSequence)
	entry := a.entry()
	require.Equal(t, "handoff", entry.Index)
	require.Equal(t, b.clock.Ms(), entry.AtMs, "its task should be standing now")
	q := journal.Commit{Hold: child.hold, Step: 0, Node: "node_1", Checkpoint: []byte("checkpoint 1"), Then: completeWith("done")}
	b.unchanged(func() {
		again, err := b.Store.Commit(b.ctx(), q)
		require.NoError(t, err)
		require.Equal(t, answer.Tasks, again.Tasks, "a repeat gives the parent's task again")
	})
	a.claim()
	require.Len(t, a.claimed.Inbox, 1)
	result := a.results()[execution.ChildRequest(theCall)]
	require.Equal(t, child.id, result.ExecutionID)
	require.Equal(t, "done", result.Outcome.Answer)
	a.commit(goOn(), func(q *journal.Commit) { q.Consumed = awaited(execution.ChildRequest(theCall)) })
	a.claim()
	require.Empty(t, a.claimed.Inbox)
}

func deliverAll(t *testing.T, b *bench) {
	a := b.planned()
	one, two, three := a.spawn("call_0_0"), a.spawn("call_0_1"), a.spawn("call_0_2")
	a.awaits("call_0_0", "call_0_2")
	require.Empty(t, two.claim().commit(completeWith("two")).Tasks, "nobody waits for it")
	require.Empty(t, one.claim().commit(completeWith("one")).Tasks)
	require.Equal(t, &execution.Wait{Kind: execution.WaitChild}, a.row().Wait)
	answer := three.claim().commit(completeWith("three"))
	require.Len(t, answer.Tasks, 1)
	require.Equal(t, a.id, answer.Tasks[0].Execution)
	a.claim()
	require.Len(t, a.results(), 3)
}

func deliverEarly(t *testing.T, b *bench) {
	a := b.planned()
	one, two := a.spawn("call_0_0"), a.spawn("call_0_1")
	one.claim().commit(completeWith("one"))
	require.Empty(t, a.awaits("call_0_0", "call_0_1").Tasks)
	require.Len(t, two.claim().commit(failWith("c")).Tasks, 1)
	a.claim()
	answer := a.awaits("call_0_0", "call_0_1")
	require.Len(t, answer.Tasks, 1, "both are there")
	require.Equal(t, execution.Running, answer.State)
	a.claim()
	answer = a.commit(awaitChildren("call_0_0", "call_0_1"), func(q *journal.Commit) {
		q.Consumed = awaited(execution.ChildRequest("call_0_1"))
	})
	require.Empty(t, answer.Tasks, "what the commit consumes is not there any more")
	for _, then := range []journal.Then{
		{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: awaited("")},
		{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: awaited("a\nb")},
		{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: make([]execution.RequestID, journal.MaxChildren+1)},
		{Kind: journal.ThenContinue, Await: awaited("a")},
	} {
		held := b.planned()
		b.unchanged(func() {
			_, err := b.Store.Commit(b.ctx(), held.commitOf(then))
			require.ErrorIs(t, err, journal.ErrConflict)
		})
	}
	asks := ask()
	asks.Await = awaited("another")
	held := b.planned()
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), held.commitOf(asks))
		require.ErrorIs(t, err, journal.ErrConflict, "an interaction waits for its own answer")
	})
}

// ends are the ways in which a child ends, each as what it does to a queued child.
func ends() map[string]func(child *actor) {
	return map[string]func(child *actor){
		"a commit":                  func(child *actor) { child.claim().commit(failWith("c")) },
		"a commit after a cancel":   func(child *actor) { child.claim().cancel(); child.commit(goOn()) },
		"a release after a cancel":  func(child *actor) { child.claim().cancel(); child.release() },
		"a cancel":                  func(child *actor) { child.cancel() },
		"a cancel of what ran out":  func(child *actor) { child.claim().runOut().cancel() },
		"a claim after a cancel":    func(child *actor) { child.claim().cancel(); child.runOut(); _ = child.tryClaim() },
		"a requeue after a cancel":  func(child *actor) { child.claim().cancel(); child.runOut().requeue() },
		"a pause after a cancel":    func(child *actor) { child.claim().cancel(); child.runOut().pause() },
		"taking back what canceled": func(child *actor) { child.claim().cancel(); child.takeBack() },
		"a deadline": func(child *actor) {
			child.claim().commit(journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote})
			_, err := child.b.Store.Expire(child.b.ctx(), child.due())
			require.NoError(child.b.t, err)
		},
		"its holder's word": func(child *actor) {
			_, err := child.claim().b.Store.Finish(child.b.ctx(), child.next(), anyState, completed())
			require.NoError(child.b.t, err)
		},
		"a finalizing that ran out": func(child *actor) {
			child.claim().attach().commit(completeWith("done"))
			_, err := child.b.Store.Expire(child.b.ctx(), child.due())
			require.NoError(child.b.t, err)
		},
	}
}

func deliverEnds(t *testing.T, b *bench) {
	for name, end := range ends() {
		a := b.reserve().claim()
		child := a.spawn(theCall, func(n *journal.NewExecution) { n.Deadline = time.Minute })
		a.awaits(theCall)
		end(child)
		row := child.row()
		require.True(t, row.State.Terminal(), name)
		a.claim()
		require.Equal(t, canonical(t, map[execution.RequestID]journal.ChildResult{
			execution.ChildRequest(theCall): journal.ResultOf(&row),
		}), canonical(t, a.results()), name)
	}
}

func deliverResult(t *testing.T, b *bench) {
	usage := execution.Usage{
		Requests: 3, InputTokens: 1, CacheWriteTokens: 1<<53 + 1, OutputTokens: 2, TotalTokens: 3, Partial: true, LostRequests: 1,
	}
	outcome := &execution.Outcome{Answer: "<a> & \"b\"\n€", Output: []byte(`{"a":[1,2]}`)}
	for name, then := range map[string]journal.Then{
		"completed": {Kind: journal.ThenEnd, Outcome: outcome},
		"failed":    {Kind: journal.ThenEnd, Failure: &execution.Failure{Code: "c", Message: "it <broke>"}},
	} {
		a := b.reserve().claim()
		child := a.spawn(theCall)
		a.awaits(theCall)
		child.claim().commit(then, func(q *journal.Commit) { q.Usage = usage })
		a.claim()
		require.Equal(t, journal.ChildResult{
			Type: journal.ChildResultType, ExecutionID: child.id, State: child.state(), Outcome: then.Outcome,
			Failure: then.Failure, Usage: usage,
		}, a.results()[execution.ChildRequest(theCall)], name)
	}
	a := b.reserve().claim()
	child := a.spawn(theCall)
	child.claim().release(func(r *journal.Release) { r.Usage = &usage })
	child.cancel()
	a.commit(goOn())
	a.claim()
	require.Equal(t, journal.ChildResult{
		Type: journal.ChildResultType, ExecutionID: child.id, State: execution.Canceled, Usage: usage,
	}, a.results()[execution.ChildRequest(theCall)])
}

func deliverLater(t *testing.T, b *bench) {
	held := b.planned()
	child := held.spawn(theCall)
	require.Empty(t, child.claim().commit(completeWith("done")).Tasks, "its holder is still there")
	require.Len(t, held.awaits(theCall).Tasks, 1)

	suspended := b.planned()
	child = suspended.spawn(theCall)
	suspended.awaits(theCall)
	suspended.pause()
	require.Equal(t, execution.Suspended, suspended.state())
	require.Empty(t, child.claim().commit(completeWith("done")).Tasks)
	require.Equal(t, execution.Suspended, suspended.state())
	require.Len(t, suspended.resume().Tasks, 1, "all is there")
	require.Nil(t, suspended.row().Wait)

	waiting := b.planned()
	child = waiting.spawn(theCall)
	other := waiting.spawn("call_0_1")
	waiting.awaits(theCall, "call_0_1")
	waiting.pause()
	child.claim().commit(completeWith("done"))
	require.Empty(t, waiting.resume().Tasks, "one is missing")
	require.Len(t, other.claim().commit(completeWith("done")).Tasks, 1)

	asking := b.planned()
	child = asking.spawn(theCall)
	asking.commit(ask())
	require.Empty(t, child.claim().commit(completeWith("done")).Tasks)
	require.Equal(t, execution.WaitingForInput, asking.state())
	asking.input()
	asking.claim()
	require.Len(t, asking.claimed.Inbox, 2)

	between := b.planned()
	child = between.spawn(theCall)
	between.commit(goOn())
	require.Empty(t, child.claim().commit(completeWith("done")).Tasks, "its task is standing")
	between.claim()
	require.Len(t, between.results(), 1)

	later := b.planned()
	child = later.spawn(theCall)
	later.release(retryAfter(time.Minute))
	require.Empty(t, child.claim().commit(completeWith("done")).Tasks, "it waits for another thing")
	require.Equal(t, execution.WaitRetry, later.row().Wait.Kind)
}

func deliverBounded(t *testing.T, b *bench) {
	a := b.planned()
	child := a.spawn(theCall)
	then := awaitChildren(theCall)
	then.Wait = time.Minute
	a.commit(then)
	require.Equal(t, journal.ClaimEarly, refusal(t, a.tryClaim()).Reason)
	child.claim().commit(completeWith("done"))
	require.Zero(t, a.row().NotBeforeMs)
	a.claim()

	child = a.spawn("call_0_1")
	then = awaitChildren("call_0_1")
	then.Wait = time.Minute
	a.commit(then)
	a.pause()
	child.claim().commit(completeWith("done"))
	require.Len(t, a.resume().Tasks, 1)
	a.claim()
}

func deliverRunnable(t *testing.T, b *bench) {
	a := b.planned()
	child := a.spawn(theCall)
	then := awaitChildren(theCall)
	then.Wait = time.Minute
	a.commit(then)
	require.Equal(t, journal.ActRequeue, a.due().Action)
	require.Len(t, a.requeue().Tasks, 1)
	wake := a.row().Wake
	require.Empty(t, child.claim().commit(completeWith("done")).Tasks)
	require.Equal(t, wake, a.row().Wake)
	a.claim()
	require.Len(t, a.results(), 1)
	a.commit(waitFor(time.Minute))
	require.Equal(t, journal.ClaimEarly, refusal(t, a.tryClaim()).Reason, "what it awaited before is forgotten")
}

func deliverFinalizing(t *testing.T, b *bench) {
	a := b.planned()
	child := a.spawn(theCall)
	a.awaits(theCall)
	child.claim().attach().commit(completeWith("done"))
	require.NotNil(t, a.row().Wait)
	_, err := b.Store.CompleteDelegationCleanup(b.ctx(), child.id, theLease)
	require.NoError(t, err)
	require.Nil(t, a.row().Wait)
	a.claim()
	require.Equal(t, execution.Completed, a.results()[execution.ChildRequest(theCall)].State)
}

func deliverNobody(t *testing.T, b *bench) {
	a := b.planned()
	child := a.spawn(theCall)
	child.claim()
	a.commit(completeWith("done"))
	a.delete()
	require.Equal(t, execution.Canceled, child.commit(completeWith("late")).State, "its parent's end asked it to")
	require.Equal(t, journal.Gone, a.state())
	child.delete()
	require.Empty(t, b.Dump(), "nothing stays")
}
