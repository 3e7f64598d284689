package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func steeringClauses() []clause {
	return []clause{
		{name: "cancel without a live claim ends at once", run: cancelAtOnce},
		{name: "cancel under a live claim is recorded, once", run: cancelRecorded},
		{name: "case A20: cancel over a claim that ran out raises the fence", run: cancelRaises},
		{name: "cancel of a terminal execution changes nothing", run: cancelTerminal},
		{name: "pause without a live claim suspends at once and resume goes back to where it was", run: pauseResume},
		{name: "pause under a live claim is recorded, once", run: pauseRecorded},
		{name: "a pause while waiting for input keeps the interaction open, and input is refused meanwhile", run: pauseWaiting},
		{name: "a cancel recorded under a lost claim wins over a later pause", run: pauseCanceled},
		{name: "resume clears attempts and reclaims and enqueues", run: resumeClears},
		{name: "resume of an execution that is not suspended changes nothing", run: resumeOther},
		{name: "a requested start in the future survives pause and resume", run: resumeScheduled},
	}
}

func cancelAtOnce(t *testing.T, b *bench) {
	for _, state := range execution.States()[:4] {
		a := b.arrange(state)
		before := a.row()
		change := a.cancel()
		require.True(t, change.Changed)
		require.False(t, change.Pending)
		row := change.Execution
		require.Equal(t, execution.Canceled, row.State)
		require.Equal(t, before.Version+1, row.Version)
		require.Equal(t, before.LastSequence+1, row.LastSequence, "the terminal event and no other")
		require.Nil(t, row.PendingInteraction)
		require.Nil(t, row.Suspension)
		require.Nil(t, row.Wait)
		require.Equal(t, b.clock.Ms(), row.EndedAtMs)
	}
}

func cancelRecorded(t *testing.T, b *bench) {
	a := b.planned()
	before := a.row()
	change := a.cancel()
	require.True(t, change.Changed && change.Pending)
	require.True(t, change.Execution.CancelRequested)
	require.Equal(t, execution.Running, change.Execution.State)
	require.Equal(t, before.Version+1, change.Execution.Version)
	require.Equal(t, execution.TypeCancelRequested, a.types()[2])
	b.unchanged(func() {
		again := a.cancel()
		require.False(t, again.Changed)
		require.True(t, again.Pending)
	})
	a.runOut()
	require.True(t, a.cancel().Changed, "its holder is gone")
	require.Equal(t, execution.Canceled, a.state())
}

func cancelRaises(t *testing.T, b *bench) {
	a := b.planned().runOut()
	a.cancel()
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), journal.Commit{Hold: a.hold, Step: 1, Then: goOn()})
		require.ErrorIs(t, err, journal.ErrFenced)
	})
}

func cancelTerminal(t *testing.T, b *bench) {
	for _, state := range execution.States()[5:] {
		a := b.arrange(state)
		b.unchanged(func() {
			change := a.cancel()
			require.False(t, change.Changed || change.Pending)
			require.Equal(t, rowText(t, a.row()), rowText(t, change.Execution))
		})
	}
}

func pauseResume(t *testing.T, b *bench) {
	for _, state := range execution.States()[:3] {
		a := b.arrange(state)
		before := a.row()
		change := a.pause()
		require.True(t, change.Changed)
		require.False(t, change.Pending)
		require.Equal(t, execution.Suspended, change.Execution.State)
		require.Equal(t, &execution.Suspension{Reason: execution.ReasonPaused}, change.Execution.Suspension)
		require.Equal(t, before.Version+1, change.Execution.Version)
		b.unchanged(func() { require.False(t, a.pause().Changed) })
		change = a.resume()
		require.Equal(t, state, change.Execution.State, "where it was")
		require.Nil(t, change.Execution.Suspension)
		require.Equal(t, state != execution.WaitingForInput, len(change.Tasks) == 1)
		types := a.types()
		require.Equal(t, []execution.EventType{execution.TypeExecutionSuspended, execution.TypeExecutionResumed}, types[len(types)-2:])
	}
}

func pauseRecorded(t *testing.T, b *bench) {
	a := b.planned()
	before := a.row()
	change := a.pause()
	require.True(t, change.Changed && change.Pending)
	require.True(t, change.Execution.PauseRequested)
	require.Equal(t, before.LastSequence, change.Execution.LastSequence)
	b.unchanged(func() {
		again := a.pause()
		require.False(t, again.Changed)
		require.True(t, again.Pending)
		require.False(t, a.resume().Changed)
	})
}

func pauseWaiting(t *testing.T, b *bench) {
	a := b.arrange(execution.WaitingForInput)
	a.pause()
	require.NotNil(t, a.row().PendingInteraction)
	b.unchanged(func() {
		_, err := b.Store.CommitInteractionInput(b.ctx(), a.id, theInput())
		require.ErrorIs(t, err, journal.ErrInteractionClosed)
	})
	a.resume()
	a.input()
	require.Equal(t, execution.Running, a.state())
}

func pauseCanceled(t *testing.T, b *bench) {
	a := b.planned()
	a.cancel()
	a.runOut()
	require.Equal(t, execution.Canceled, a.pause().Execution.State)
}

func resumeClears(t *testing.T, b *bench) {
	a := b.planned().runOut().claim()
	a.release(retryAfter(time.Second))
	b.clock.Advance(time.Second)
	a.claim().release(suspendFor)
	require.Equal(t, 1, a.row().Attempts)
	require.Equal(t, 1, a.row().Reclaims)
	wake := a.row().Wake
	change := a.resume()
	require.Zero(t, change.Execution.Attempts)
	require.Zero(t, change.Execution.Reclaims)
	require.Empty(t, change.Execution.ReclaimWorkers)
	require.Equal(t, []execution.Task{{Execution: a.id, Step: 1, Wake: wake + 1, Queue: "default"}}, change.Tasks)
	require.Equal(t, "handoff", a.entry().Index)
	b.unchanged(func() { require.False(t, a.resume().Changed) })
}

func resumeOther(t *testing.T, b *bench) {
	for _, state := range execution.States()[:3] {
		a := b.arrange(state)
		b.unchanged(func() {
			change := a.resume()
			require.False(t, change.Changed || change.Pending)
			require.Empty(t, change.Tasks)
		})
	}
}

func resumeScheduled(t *testing.T, b *bench) {
	at := b.clock.Ms() + 60_000
	a := b.reserve(func(n *journal.NewExecution) { n.Request.StartAtMs = at })
	a.pause()
	require.Equal(t, execution.Queued, a.resume().Execution.State)
	require.Empty(t, a.tasks)
	require.Equal(t, at, a.entry().AtMs)
	require.Equal(t, journal.ClaimEarly, refusal(t, a.tryClaim()).Reason)
}
