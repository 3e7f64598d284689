package journaltest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func stepClauses() []clause {
	return []clause{
		{name: "a commit writes checkpoint, messages, events, ledger and usage, and ends the claim", run: commitWhole},
		{name: "a commit of another step than the row's is refused", run: commitStep},
		{name: "a commit is repeated by fence and step, also after the next claim", run: commitReplay},
		{name: "a commit that contradicts itself is refused", run: commitInvalid},
		{name: "case A13: after every commit and release that goes on a task is due at the grace", run: commitHandOff},
		{name: "a commit may keep its claim for the next node", run: commitKept},
		{name: "a kept claim runs out like any other", run: commitKeptRunsOut},
		{name: "a commit that kept its claim is repeated", run: commitKeptReplay},
		{name: "a claim is not kept past a cancel, a pause, a wait or an end", run: commitNotKept},
		{name: "a wait for a time is claimed not before it", run: parkTime},
		{name: "a wait without a bound is looked at and moved on", run: parkUnbounded},
		{name: "a wait for what is already in the inbox goes on", run: parkArrived},
		{name: "a commit that ends completes or fails with the terminal event last", run: commitEnds},
		{name: "a commit that ends with a delegation to clean up is finalizing until that is done", run: commitFinalizing},
		{name: "a recorded cancel keeps the results of the commit and wins over its end", run: commitCanceled},
		{name: "a recorded pause suspends after the commit, unless it ends", run: commitPaused},
		{name: "a release hands the step back at once and counts no reclaim", run: releasePlain},
		{name: "case B11, B12: a retry waits for its time, counts, and says when", run: releaseRetry},
		{name: "a release suspends with its reason", run: releaseSuspend},
		{name: "a release carries out a recorded cancel or pause", run: releaseCarriesOut},
		{name: "a release that contradicts itself is refused", run: releaseInvalid},
		{name: "renew after a cancel extends no claim past the grace", run: renewCanceled},
	}
}

func commitWhole(t *testing.T, b *bench) {
	a := b.reserve().claim()
	before := a.row()
	usage := execution.Usage{Requests: 3, OutputTokens: 1<<53 + 1}
	b.clock.Advance(time.Second)
	answer := a.commit(goOn(), func(q *journal.Commit) {
		q.Messages = [][]byte{[]byte("one"), []byte("two")}
		q.Events = []execution.Payload{execution.ModelStarted{Turn: 1, InvocationID: "i"}, execution.ToolStarted{CallID: theCall, Name: "n"}}
		q.Usage = usage
		q.Plan = []journal.Plan{{CallID: theCall, Intent: []byte("intent")}}
	})
	require.Equal(t, journal.Committed{
		Step: 1, State: execution.Running, Sequence: 4,
		Tasks: []execution.Task{{Execution: a.id, Step: 1, Wake: 2, Queue: "default"}},
	}, answer)
	want := before
	want.Step, want.Node, want.Usage, want.Claim, want.Wake, want.LastSequence = 1, "node_1", usage, nil, 2, 4
	want.Version, want.UpdatedAtMs, want.HistoryEnd = before.Version+1, b.clock.Ms(), 3
	require.Equal(t, rowText(t, want), rowText(t, a.row()))
	messages, err := b.Store.Messages(b.ctx(), a.id, 1, 10)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("one"), []byte("two")}, messages)
	checkpoints, err := b.Store.Checkpoints(b.ctx(), a.id, 1, 10)
	require.NoError(t, err)
	require.Equal(t, []journal.StoredCheckpoint{{Data: []byte("checkpoint 1"), AtMs: b.clock.Ms()}}, checkpoints)
	ledger, err := b.Store.Ledger(b.ctx(), a.id, []execution.CallID{theCall, "none"})
	require.NoError(t, err)
	require.Equal(t, canonical(t, []journal.LedgerEntry{
		{CallID: theCall, State: journal.Planned, Intent: []byte("intent")}, {CallID: "none"},
	}), canonical(t, ledger))
}

func commitStep(t *testing.T, b *bench) {
	a := b.planned()
	for _, step := range []execution.Step{0, 2, 99} {
		b.unchanged(func() {
			q := a.commitOf(goOn())
			q.Step = step
			_, err := b.Store.Commit(b.ctx(), q)
			require.ErrorIs(t, err, journal.ErrConflict)
		})
	}
}

func commitReplay(t *testing.T, b *bench) {
	a := b.reserve().claim()
	q := a.commitOf(goOn())
	first, err := b.Store.Commit(b.ctx(), q)
	require.NoError(t, err)
	for range 2 {
		b.unchanged(func() {
			again, err := b.Store.Commit(b.ctx(), q)
			require.NoError(t, err)
			require.True(t, again.Replayed)
			again.Replayed = false
			require.Equal(t, canonical(t, first), canonical(t, again))
		})
		if a.row().Claim == nil {
			a.claim()
		}
	}
	a.commit(goOn())
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), q)
		require.ErrorIs(t, err, journal.ErrFenced, "only the last commit is remembered")
	})
}

func commitInvalid(t *testing.T, b *bench) {
	a := b.reserve().claim()
	outcome, failure := &execution.Outcome{}, &execution.Failure{Code: "c"}
	i := question()
	nameless := execution.Interaction{Kind: execution.Approval}
	for _, then := range []journal.Then{
		{},
		{Kind: "sleep"},
		{Kind: journal.ThenContinue, Outcome: outcome},
		{Kind: journal.ThenContinue, Interaction: &i},
		{Kind: journal.ThenContinue, Suspension: policy()},
		{Kind: journal.ThenPark},
		{Kind: journal.ThenPark, Interaction: &nameless},
		{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: -1},
		{Kind: journal.ThenSuspend},
		{Kind: journal.ThenEnd},
		{Kind: journal.ThenEnd, Outcome: outcome, Failure: failure},
		{Kind: journal.ThenEnd, Outcome: outcome, Interaction: &i},
	} {
		b.unchanged(func() {
			_, err := b.Store.Commit(b.ctx(), a.commitOf(then))
			require.ErrorIs(t, err, journal.ErrConflict)
		})
	}
}

func commitHandOff(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for _, step := range []func(){func() { a.commit(goOn()) }, func() { a.release() }, func() { a.commit(goOn()) }} {
		wake := a.row().Wake
		step()
		entry := a.entry()
		require.Equal(t, "handoff", entry.Index)
		require.Equal(t, b.clock.Ms()+b.cfg.HandoffGrace.Milliseconds(), entry.AtMs)
		require.Len(t, a.tasks, 1)
		require.Equal(t, wake+1, a.tasks[0].Wake)
		require.Equal(t, a.row().Wake, a.tasks[0].Wake)
		a.claim()
		require.Equal(t, "due", a.entry().Index)
	}
}

func waitFor(d time.Duration) journal.Then {
	return journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: d}
}

func parkTime(t *testing.T, b *bench) {
	a := b.reserve().claim()
	answer := a.commit(waitFor(time.Minute))
	require.Empty(t, answer.Tasks)
	require.Equal(t, execution.Running, answer.State)
	at := b.clock.Ms() + 60_000
	require.Equal(t, &execution.Wait{Kind: execution.WaitRemote, UntilMs: at}, a.row().Wait)
	require.Equal(t, at, a.row().NotBeforeMs)
	require.Equal(t, journal.ClaimEarly, refusal(t, a.tryClaim()).Reason)
	seen := a.due()
	require.Equal(t, journal.ActRequeue, seen.Action)
	require.Len(t, a.requeue().Tasks, 1)
	a.claim()
	require.Nil(t, a.row().Wait)
}

func parkUnbounded(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.commit(journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: awaited("child-1")})
	require.Equal(t, b.clock.Ms()+b.cfg.LookAgain.Milliseconds(), a.entry().AtMs)
	seen := a.due()
	require.Equal(t, journal.ActExpire, seen.Action)
	row := a.row()
	answer, err := b.Store.Expire(b.ctx(), seen)
	require.NoError(t, err)
	require.Equal(t, journal.Requeued{Moved: true, State: execution.Running}, answer)
	require.Equal(t, rowText(t, row), rowText(t, a.row()))
	require.Equal(t, b.clock.Ms()+b.cfg.LookAgain.Milliseconds(), a.entry().AtMs)
}

func parkArrived(t *testing.T, b *bench) {
	a := b.answered()
	answer := a.commit(journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: awaited(theRequest)})
	require.Equal(t, execution.Running, answer.State)
	require.Len(t, answer.Tasks, 1)
	require.Nil(t, a.row().Wait)
	a.claim()
	require.Len(t, a.claimed.Inbox, 1)
	answer = a.commit(journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: awaited(theRequest)},
		func(q *journal.Commit) { q.Consumed = []execution.RequestID{theRequest} })
	require.Empty(t, answer.Tasks, "what the commit consumes is not there any more")
	require.NotNil(t, a.row().Wait)
}

func commitEnds(t *testing.T, b *bench) {
	for state, then := range map[execution.State]journal.Then{
		execution.Completed: completeWith("done"), execution.Failed: failWith("model_error"),
	} {
		a := b.reserve().claim()
		answer := a.commit(then, func(q *journal.Commit) { q.Events = []execution.Payload{warning("w")} })
		require.Equal(t, state, answer.State)
		require.Empty(t, answer.Tasks, "no task follows a terminal commit")
		row := a.row()
		require.Equal(t, then.Outcome, row.Outcome)
		require.Equal(t, then.Failure, row.Failure)
		require.Equal(t, b.clock.Ms(), row.EndedAtMs)
		require.Nil(t, row.Claim)
		require.False(t, row.Active)
		require.Equal(t, row.LastSequence, answer.Sequence)
		events, err := b.Store.Events(b.ctx(), a.id, 3, 10)
		require.NoError(t, err)
		require.Len(t, events, 1)
		want := journal.EndingPayload(journal.EndingOf(then))
		require.Equal(t, canonical(t, want), canonical(t, events[0].Payload))
		entry := a.entry()
		require.Equal(t, "purge", entry.Index)
		require.Equal(t, b.clock.Ms()+b.cfg.Retention.Milliseconds(), entry.AtMs)
	}
}

func commitFinalizing(t *testing.T, b *bench) {
	a := b.arrange(execution.Finalizing)
	require.Equal(t, execution.Finalizing, a.row().State)
	require.NotContains(t, a.types(), execution.TypeExecutionCompleted)
	require.Equal(t, "due", a.entry().Index)
	row, err := b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
	require.NoError(t, err)
	require.Equal(t, execution.Completed, row.State)
	require.Equal(t, "done", row.Outcome.Answer)
	types := a.types()
	require.Equal(t, execution.TypeExecutionCompleted, types[len(types)-1])
}

func commitCanceled(t *testing.T, b *bench) {
	for _, then := range []journal.Then{
		goOn(), ask(), completeWith("done"), failWith("c"), waitFor(time.Second),
		{Kind: journal.ThenSuspend, Suspension: policy()},
	} {
		a := b.planned()
		require.True(t, a.cancel().Pending)
		answer := a.commit(then, func(q *journal.Commit) {
			q.Messages, q.Events = [][]byte{[]byte("kept")}, []execution.Payload{warning("kept")}
			q.Usage = execution.Usage{Requests: 1}
		})
		require.Equal(t, execution.Canceled, answer.State)
		require.Empty(t, answer.Tasks)
		row := a.row()
		require.EqualValues(t, 2, row.Step)
		require.EqualValues(t, 1, row.Usage.Requests)
		require.Nil(t, row.Outcome)
		require.Nil(t, row.Failure)
		require.Nil(t, row.PendingInteraction)
		require.Equal(t, []execution.EventType{
			execution.TypeExecutionQueued, execution.TypeExecutionStarted, execution.TypeCancelRequested,
			execution.TypeWarning, execution.TypeExecutionCanceled,
		}, a.types())
		messages, err := b.Store.Messages(b.ctx(), a.id, 1, 10)
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("kept")}, messages)
	}
}

func commitPaused(t *testing.T, b *bench) {
	for name, then := range map[string]journal.Then{"go on": goOn(), "ask": ask(), "wait": waitFor(time.Minute)} {
		a := b.planned()
		require.True(t, a.pause().Pending)
		answer := a.commit(then)
		require.Equal(t, execution.Suspended, answer.State, name)
		require.Empty(t, answer.Tasks)
		require.Equal(t, &execution.Suspension{Reason: execution.ReasonPaused}, a.row().Suspension)
		require.False(t, a.row().PauseRequested)
		change := a.resume()
		switch name {
		case "go on":
			require.Equal(t, execution.Running, change.Execution.State)
			require.Len(t, change.Tasks, 1)
		case "ask":
			require.Equal(t, execution.WaitingForInput, change.Execution.State)
			require.Empty(t, change.Tasks)
			a.input()
		default:
			require.Equal(t, execution.Running, change.Execution.State)
			require.Empty(t, change.Tasks, "it still waits")
			require.Equal(t, journal.ActRequeue, a.due().Action)
		}
	}
	a := b.planned()
	a.pause()
	require.Equal(t, execution.Completed, a.commit(completeWith("done")).State)
	a = b.planned()
	a.pause()
	a.commit(journal.Then{Kind: journal.ThenSuspend, Suspension: policy()})
	require.Equal(t, execution.ReasonPolicy, a.row().Suspension.Reason)
	require.False(t, a.row().PauseRequested)
}

func releasePlain(t *testing.T, b *bench) {
	a := b.planned()
	before := a.row()
	answer := a.release(func(r *journal.Release) { r.Usage = &execution.Usage{Requests: 2} })
	require.Equal(t, []execution.Task{{Execution: a.id, Step: 1, Wake: before.Wake + 1, Queue: "default"}}, answer.Tasks)
	row := a.row()
	require.Equal(t, before.Step, row.Step)
	require.EqualValues(t, 2, row.Usage.Requests)
	a.claim()
	require.False(t, a.claimed.Reclaimed)
	require.Zero(t, a.row().Reclaims)
}

func releaseRetry(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for attempt := 1; attempt <= 3; attempt++ {
		answer := a.release(retryAfter(time.Second))
		require.Empty(t, answer.Tasks)
		at := b.clock.Ms() + 1000
		row := a.row()
		require.Equal(t, attempt, row.Attempts)
		require.Equal(t, at, row.NotBeforeMs)
		require.Equal(t, &execution.Wait{Kind: execution.WaitRetry, UntilMs: at}, row.Wait)
		events, err := b.Store.Events(b.ctx(), a.id, row.LastSequence-1, 1)
		require.NoError(t, err)
		require.Equal(t, canonical(t, execution.RetryScheduled{
			Node: "model", Attempt: attempt, AtMs: at, Code: "rate_limited", Message: execution.ClipRetryText(strings.Repeat("é", execution.MaxRetryText)),
		}), canonical(t, events[0].Payload), "what failed stands there, and no more of it than has to")
		require.Equal(t, at, a.entry().AtMs)
		require.Equal(t, journal.ActRequeue, a.due().Action)
		require.Len(t, a.requeue().Tasks, 1)
		a.claim()
	}
	a.commit(goOn())
	require.Zero(t, a.row().Attempts)
	require.Zero(t, a.row().NotBeforeMs)
}

func releaseSuspend(t *testing.T, b *bench) {
	a := b.reserve().claim()
	answer := a.release(suspendFor)
	require.Equal(t, execution.Suspended, answer.State)
	suspension := policy()
	require.Equal(t, &suspension, a.row().Suspension)
	require.Equal(t, execution.TypeExecutionSuspended, a.types()[2])
	require.Equal(t, b.clock.Ms()+b.cfg.Retention.Milliseconds(), a.entry().AtMs)
}

func releaseCarriesOut(t *testing.T, b *bench) {
	for name, change := range map[string]func(*journal.Release){
		"plain": func(*journal.Release) {}, "retry": retryAfter(time.Minute), "suspend": suspendFor,
	} {
		a := b.planned()
		a.cancel()
		require.Equal(t, execution.Canceled, a.release(change).State, name)
		require.Equal(t, execution.TypeExecutionCanceled, a.types()[3], name)
		require.Len(t, a.types(), 4, name)
		a = b.planned()
		a.pause()
		require.Equal(t, execution.Suspended, a.release(change).State, name)
		reason := execution.ReasonPaused
		if name == "suspend" {
			reason = execution.ReasonPolicy
		}
		require.Equal(t, reason, a.row().Suspension.Reason, name)
		require.False(t, a.row().PauseRequested)
	}
}

func releaseInvalid(t *testing.T, b *bench) {
	a := b.planned()
	b.unchanged(func() {
		for _, q := range []journal.Release{
			{Retry: &journal.Retry{}, Suspension: &execution.Suspension{Reason: execution.ReasonLimit}},
			{Retry: &journal.Retry{After: -1}},
			{Suspension: &execution.Suspension{}},
		} {
			q.Hold = a.next()
			_, err := b.Store.Release(b.ctx(), q)
			require.ErrorIs(t, err, journal.ErrConflict)
		}
	})
}

func renewCanceled(t *testing.T, b *bench) {
	a := b.reserve().claim()
	b.clock.Advance(time.Second)
	a.cancel()
	b.clock.Advance(2 * time.Second)
	renewed, err := b.Store.Renew(b.ctx(), a.next(), ttl)
	require.NoError(t, err)
	require.Equal(t, journal.Renewed{CancelRequested: true, TTL: 3 * time.Second}, renewed)
	b.clock.Advance(10 * time.Second)
	renewed, err = b.Store.Renew(b.ctx(), a.next(), ttl)
	require.NoError(t, err)
	require.Zero(t, renewed.TTL)
	require.Equal(t, execution.Canceled, a.cancel().Execution.State, "nobody holds it any more")
}
