package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func expiryClauses() []clause {
	return []clause{
		{name: "an interaction that expires is rejected by default: its entry says so and the execution goes on", run: expireReject},
		{name: "an interaction that expires fails the execution when it says so", run: expireFail},
		{name: "an interaction that expires suspends the execution when it says so, and is open without bound after resume", run: expireSuspend},
		{name: "case K2: a question that was answered, or is not expired, is left alone", run: expireAnswered},
		{name: "case A19: every wait past the deadline fails", run: expireDeadline},
		{name: "case A18: a held execution, and one about to be called, are not failed by the deadline", run: deadlineHeld},
		{name: "a suspension past its retention fails", run: expireSuspension},
		{name: "a wait that is merely looked at is moved on", run: expireLook},
		{name: "finalizing past its time ends with a warning before the terminal event", run: expireFinalizing},
		{name: "finalizing without a recorded end fails, or is canceled when that was asked for", run: expireUnfinished},
	}
}

func (a *actor) expire() journal.Requeued {
	a.b.t.Helper()
	seen := a.due()
	require.Equal(a.b.t, journal.ActExpire, seen.Action)
	answer, err := a.b.Store.Expire(a.b.ctx(), seen)
	require.NoError(a.b.t, err)
	require.True(a.b.t, answer.Moved)
	a.tasks = answer.Tasks
	return answer
}

// asked is an execution whose interaction expires in a minute.
func (b *bench) asked(onExpiry execution.OnExpiry) *actor {
	b.t.Helper()
	a := b.reserve().claim()
	a.commit(ask(func(i *execution.Interaction) { i.ExpiresAtMs, i.OnExpiry = b.clock.Ms()+60_000, onExpiry }))
	require.Equal(b.t, b.clock.Ms()+60_000, a.entry().AtMs)
	return a
}

func expireReject(t *testing.T, b *bench) {
	for _, onExpiry := range []execution.OnExpiry{"", execution.ExpireReject} {
		a := b.asked(onExpiry)
		answer := a.expire()
		require.Equal(t, execution.Running, answer.State)
		require.Len(t, answer.Tasks, 1)
		types := a.types()
		require.Equal(t, execution.TypeInteractionReceived, types[len(types)-1])
		b.unchanged(func() {
			_, err := b.Store.CommitInteractionInput(b.ctx(), a.id, theInput())
			require.ErrorIs(t, err, journal.ErrInteractionClosed, "too late")
		})
		a.claim()
		require.Len(t, a.claimed.Inbox, 1)
		require.Equal(t, `{"type":"expired","requestId":"request-1"}`, string(a.claimed.Inbox[0].Payload))
		a.commit(goOn(), consuming)
		require.Nil(t, a.row().PendingInteraction)
	}
}

func expireFail(t *testing.T, b *bench) {
	a := b.asked(execution.ExpireFail)
	require.Equal(t, execution.Failed, a.expire().State)
	require.Equal(t, execution.CodeInteractionExpired, a.row().Failure.Code)
}

func expireSuspend(t *testing.T, b *bench) {
	a := b.asked(execution.ExpireSuspend)
	require.Equal(t, execution.Suspended, a.expire().State)
	want := journal.InteractionExpiredSuspension()
	require.Equal(t, &want, a.row().Suspension)
	require.Equal(t, execution.WaitingForInput, a.resume().Execution.State)
	require.Zero(t, a.row().PendingInteraction.ExpiresAtMs)
	b.clock.Advance(time.Hour)
	a.input()
}

func expireAnswered(t *testing.T, b *bench) {
	a := b.asked("")
	early := a.entry()
	b.unchanged(func() {
		answer, err := b.Store.Expire(b.ctx(), early)
		require.NoError(t, err)
		require.False(t, answer.Moved)
	})
	seen := a.due()
	a.input()
	b.unchanged(func() {
		answer, err := b.Store.Expire(b.ctx(), seen)
		require.NoError(t, err)
		require.False(t, answer.Moved)
	})
}

func expireDeadline(t *testing.T, b *bench) {
	hour := func(n *journal.NewExecution) { n.Deadline = time.Hour }
	for name, wait := range map[string]func(a *actor){
		"input": func(a *actor) { a.commit(ask()) },
		"expiry": func(a *actor) {
			a.commit(ask(func(i *execution.Interaction) { i.ExpiresAtMs = b.clock.Ms() + 7200_000 }))
		},
		"remote": func(a *actor) { a.commit(waitFor(2 * time.Hour)) },
		"child": func(a *actor) {
			a.commit(journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: awaited("c")})
		},
		"retry":   func(a *actor) { a.release(retryAfter(2 * time.Hour)) },
		"suspend": func(a *actor) { a.release(suspendFor) },
		"pause":   func(a *actor) { a.release(); a.pause() },
	} {
		a := b.reserve(hour).claim()
		wait(a)
		require.Equal(t, a.row().DeadlineAtMs, a.entry().AtMs, name)
		require.Equal(t, execution.Failed, a.expire().State, name)
		require.Equal(t, execution.CodeDeadlineExceeded, a.row().Failure.Code, name)
		types := a.types()
		require.Equal(t, execution.TypeExecutionFailed, types[len(types)-1], name)
	}
}

func deadlineHeld(t *testing.T, b *bench) {
	short := func(n *journal.NewExecution) { n.Deadline = time.Second }
	held, free := b.reserve(short).claim(), b.reserve(short).claim()
	free.release()
	b.clock.Advance(time.Hour)
	for _, a := range []*actor{held, free} {
		answer, err := b.Store.Expire(b.ctx(), a.due())
		require.NoError(t, err)
		require.False(t, answer.Moved)
		require.Len(t, a.requeue().Tasks, 1, "the next node's limits see the deadline")
	}
}

func expireSuspension(t *testing.T, b *bench) {
	a := b.arrange(execution.Suspended)
	require.Equal(t, execution.Failed, a.expire().State)
	require.Equal(t, execution.CodeSuspensionExpired, a.row().Failure.Code)
	require.Nil(t, a.row().Suspension)
}

func expireLook(t *testing.T, b *bench) {
	waiting := b.arrange(execution.WaitingForInput)
	line := b.reserve()
	turn := line.follow()
	for _, a := range []*actor{waiting, turn} {
		before := a.row()
		require.Empty(t, a.expire().Tasks)
		require.Equal(t, rowText(t, before), rowText(t, a.row()))
		require.Equal(t, b.clock.Ms()+b.cfg.LookAgain.Milliseconds(), a.entry().AtMs)
	}
}

func expireFinalizing(t *testing.T, b *bench) {
	for state, then := range map[execution.State]journal.Then{
		execution.Completed: completeWith("done"), execution.Failed: failWith("model_error"),
	} {
		a := b.reserve().claim().attach()
		a.commit(then)
		require.Equal(t, b.clock.Ms()+b.cfg.CleanupTimeout.Milliseconds(), a.entry().AtMs)
		require.Equal(t, state, a.expire().State)
		types := a.types()
		require.Equal(t, []execution.EventType{
			execution.TypeWarning, journal.EndingPayload(journal.EndingOf(then)).EventType(),
		}, types[len(types)-2:])
		require.False(t, a.row().Delegation.CleanupComplete, "clean-up goes on")
		_, err := b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
		require.NoError(t, err)
	}
}

func expireUnfinished(t *testing.T, b *bench) {
	a := b.finalizing()
	require.Equal(t, execution.Failed, a.expire().State)
	require.Equal(t, execution.CodeInternal, a.row().Failure.Code)
	_, err := b.Store.Finish(b.ctx(), a.next(), anyState, completed())
	require.ErrorIs(t, err, journal.ErrFenced)

	a = b.reserve().claim()
	a.cancel()
	_, err = b.Store.Transition(b.ctx(), a.next(), inRunning, execution.Finalizing)
	require.NoError(t, err)
	require.Equal(t, execution.Canceled, a.expire().State)
}
