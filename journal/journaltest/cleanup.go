package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func cleanupClauses() []clause {
	short := func(c *journal.Config) { c.Retention = time.Hour }
	return []clause{
		{name: "what must be undone stays until a step says otherwise, and comes with every claim", run: cleanupKept},
		{name: "a commit that ends with something to undo is finalizing until that is done", run: cleanupFinalizing},
		{name: "with a delegation and something else to undo both must be done", run: cleanupBoth},
		{name: "a command ends at once, and the clean-up goes on", run: cleanupCanceled},
		{name: "only what was undone is forgotten", run: cleanupOther},
		{name: "who cleans up is told of what is open, the longest due first", run: cleanupsListed},
		{name: "of many that saw the same clean-up one attempts it", run: cleanupsOnce},
		{name: "a clean-up that ran out of time goes on after the end", run: cleanupRanOut},
		{name: "what is not cleaned up is not deleted, and kept for the store's retention", run: cleanupRetained, config: short},
		{name: "what is open outside is counted from the step that says so until it is undone, or the row is gone", run: cleanupCounted, config: short},
		{name: "case A6: an entry whose row is gone is removed, and an unreadable one stops no other", run: cleanupsBad},
	}
}

func theCleanup() []byte { return []byte("task 7\x00") }

// toUndo has a commit say what must be undone.
func toUndo(what []byte) func(*journal.Commit) {
	return func(q *journal.Commit) { q.Cleanup = &what }
}

// unclean brings an execution with something to undo into finalizing or a terminal state.
func (b *bench) unclean(state execution.State) *actor {
	b.t.Helper()
	a := b.reserve().claim()
	if state == execution.Finalizing {
		a.commit(completeWith("done"), toUndo(theCleanup()))
		return a
	}
	a.commit(goOn(), toUndo(theCleanup()))
	a.claim()
	_, err := b.Store.Finish(b.ctx(), a.next(), anyState, endingIn(state))
	require.NoError(b.t, err)
	return a
}

func (b *bench) cleanups() []journal.Cleanup {
	b.t.Helper()
	found, err := b.Store.Cleanups(b.ctx(), thePartition, 100)
	require.NoError(b.t, err)
	return found
}

func (a *actor) cleanUp() journal.Change {
	a.b.t.Helper()
	change, err := a.b.Store.CompleteCleanup(a.b.ctx(), a.id, theCleanup())
	require.NoError(a.b.t, err)
	return change
}

func cleanupKept(t *testing.T, b *bench) {
	a := b.reserve().claim()
	require.Nil(t, a.claimed.Execution.Cleanup)
	a.commit(goOn(), toUndo(theCleanup()))
	a.claim()
	require.Equal(t, theCleanup(), a.claimed.Execution.Cleanup)
	a.commit(goOn())
	require.Equal(t, theCleanup(), a.row().Cleanup)
	a.claim()
	require.Equal(t, theCleanup(), a.claimed.Execution.Cleanup)
	a.commit(waitFor(time.Second), toUndo([]byte("task 8")))
	require.Equal(t, []byte("task 8"), a.row().Cleanup)
	b.clock.Advance(time.Second)
	a.claim()
	a.commit(goOn(), toUndo(nil))
	require.Empty(t, a.row().Cleanup)
	a.claim()
	big := make([]byte, journal.MaxCleanupBytes+1)
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), a.commitOf(goOn(), toUndo(big)))
		require.ErrorIs(t, err, journal.ErrConflict)
	})
	a.commit(completeWith("done"), toUndo(nil))
	require.Equal(t, execution.Completed, a.state())
	require.Empty(t, b.cleanups())
}

func cleanupFinalizing(t *testing.T, b *bench) {
	a := b.unclean(execution.Finalizing)
	require.Equal(t, execution.Finalizing, a.state())
	require.NotContains(t, a.types(), execution.TypeExecutionCompleted)
	found := b.cleanups()
	require.Len(t, found, 1)
	require.Equal(t, rowText(t, a.row()), rowText(t, found[0].Execution))
	require.Equal(t, b.clock.Ms(), found[0].AtMs)
	require.Equal(t, b.clock.Ms(), found[0].SinceMs)
	next := b.reserve(func(n *journal.NewExecution) {
		n.ConversationID, n.Request.OnBusy = a.conv, execution.BusyEnqueue
	})
	change := a.cleanUp()
	require.True(t, change.Changed)
	require.Equal(t, execution.Completed, change.Execution.State)
	require.Equal(t, "done", change.Execution.Outcome.Answer)
	require.Empty(t, change.Execution.Cleanup)
	require.Len(t, change.Tasks, 1)
	require.Equal(t, next.id, change.Tasks[0].Execution, "the next in the conversation")
	b.unchanged(func() {
		require.False(t, a.cleanUp().Changed)
		require.Empty(t, b.cleanups())
	})
}

func cleanupBoth(t *testing.T, b *bench) {
	done := []func(a *actor){
		func(a *actor) { a.cleanUp() },
		func(a *actor) {
			_, err := b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
			require.NoError(t, err)
		},
	}
	for first := range done {
		a := b.reserve().claim().attach()
		a.commit(completeWith("done"), toUndo(theCleanup()))
		done[first](a)
		require.Equal(t, execution.Finalizing, a.state())
		require.Len(t, b.cleanups(), 1)
		done[1-first](a)
		require.Equal(t, execution.Completed, a.state())
		require.Empty(t, b.cleanups())
	}
	a := b.reserve().claim().attach()
	a.commit(goOn(), toUndo(theCleanup()))
	a.cancel()
	done[0](a)
	require.Len(t, b.cleanups(), 1)
	done[1](a)
	require.Empty(t, b.cleanups())
}

func cleanupCanceled(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.commit(goOn(), toUndo(theCleanup()))
	require.Empty(t, b.cleanups(), "it has not ended")
	require.Equal(t, execution.Canceled, a.cancel().Execution.State)
	require.Len(t, b.cleanups(), 1)
	last := a.row().LastSequence
	change := a.cleanUp()
	require.True(t, change.Changed)
	require.Equal(t, last, change.Execution.LastSequence, "the terminal event stays the last one")
	require.Empty(t, b.cleanups())

	a = b.reserve().claim()
	a.cancel()
	require.Equal(t, execution.Canceled, a.commit(completeWith("done"), toUndo(theCleanup())).State)
	require.Len(t, b.cleanups(), 1)
}

func cleanupOther(t *testing.T, b *bench) {
	for _, state := range execution.States()[4:] {
		a := b.unclean(state)
		b.unchanged(func() {
			_, err := b.Store.CompleteCleanup(b.ctx(), a.id, []byte("task 8"))
			require.ErrorIs(t, err, journal.ErrConflict)
			require.NotErrorIs(t, err, journal.ErrState)
		})
		a.cleanUp()
		b.unchanged(func() {
			change, err := b.Store.CompleteCleanup(b.ctx(), a.id, []byte("task 8"))
			require.NoError(t, err, "complete already")
			require.False(t, change.Changed)
		})
	}
}

func cleanupsListed(t *testing.T, b *bench) {
	var want []execution.ID
	for _, state := range execution.States()[4:] {
		want = append(want, b.unclean(state).id)
		b.clock.Advance(time.Second)
	}
	held := b.reserve().claim().attach()
	for _, state := range execution.States() {
		if state != execution.Finalizing {
			b.arrange(state)
		}
	}
	b.unchanged(func() {
		for limit := range len(want) + 2 {
			found, err := b.Store.Cleanups(b.ctx(), thePartition, limit)
			require.NoError(t, err)
			require.Len(t, found, min(limit, len(want)))
			for i, c := range found {
				require.Equal(t, want[i], c.Execution.ID)
				require.Equal(t, b.clock.Ms(), c.NowMs)
			}
		}
		other, err := b.Store.Cleanups(b.ctx(), thePartition+1, 10)
		require.NoError(t, err)
		require.Empty(t, other, "another partition")
	})
	held.cancel()
	require.Len(t, b.cleanups(), len(want))
	held.release()
	require.Len(t, b.cleanups(), len(want)+1)
}

func cleanupsOnce(t *testing.T, b *bench) {
	a := b.unclean(execution.Failed)
	seen := b.cleanups()[0]
	moved, err := b.Store.PostponeCleanup(b.ctx(), seen, time.Second)
	require.NoError(t, err)
	require.True(t, moved)
	require.Empty(t, b.cleanups())
	b.unchanged(func() {
		moved, err = b.Store.PostponeCleanup(b.ctx(), seen, time.Second)
		require.NoError(t, err)
		require.False(t, moved, "another one has it")
	})
	b.clock.Advance(time.Second - time.Millisecond)
	require.Empty(t, b.cleanups())
	b.clock.Advance(time.Millisecond)
	again := b.cleanups()
	require.Len(t, again, 1)
	require.Equal(t, b.clock.Ms(), again[0].AtMs)
	require.Equal(t, seen.SinceMs, again[0].SinceMs)
	a.cleanUp()
	b.unchanged(func() {
		moved, err = b.Store.PostponeCleanup(b.ctx(), again[0], time.Second)
		require.NoError(t, err)
		require.False(t, moved)
	})
}

func cleanupRanOut(t *testing.T, b *bench) {
	a := b.unclean(execution.Finalizing)
	require.Equal(t, execution.Completed, a.expire().State)
	require.Contains(t, a.types(), execution.TypeWarning)
	require.Equal(t, theCleanup(), a.row().Cleanup)
	require.Len(t, b.cleanups(), 1)
	a.cleanUp()
	require.Equal(t, execution.Completed, a.state())
}

func cleanupRetained(t *testing.T, b *bench) {
	a := b.reserve(func(n *journal.NewExecution) { n.Retention = time.Minute }).claim()
	a.commit(goOn(), toUndo(theCleanup()))
	a.cancel()
	b.unchanged(func() { require.ErrorIs(t, b.Store.Delete(b.ctx(), a.id), journal.ErrCleanupOpen) })
	ended := b.clock.Ms()
	seen := a.due()
	require.Equal(t, ended+60_000, seen.AtMs)
	require.NoError(t, b.Store.Purge(b.ctx(), seen))
	require.Equal(t, execution.Canceled, a.state())
	require.Equal(t, ended+time.Hour.Milliseconds(), a.entry().AtMs)
	require.NoError(t, b.Store.Purge(b.ctx(), a.due()))
	require.Equal(t, journal.Gone, a.state(), "it was tried for long enough")
	require.Empty(t, b.cleanups())
	require.Empty(t, b.Dump())
}

func cleanupsBad(t *testing.T, b *bench) {
	if b.Corrupt == nil {
		t.Skip("the store cannot come to that")
	}
	bad, gone, good := b.unclean(execution.Completed), b.unclean(execution.Failed), b.unclean(execution.Canceled)
	b.Corrupt(bad.id)
	b.Orphan(gone.id)
	found := b.cleanups()
	require.Len(t, found, 2)
	byID := map[execution.ID]journal.Cleanup{found[0].Execution.ID: found[0], found[1].Execution.ID: found[1]}
	require.True(t, byID[bad.id].Bad)
	require.False(t, byID[good.id].Bad)
	moved, err := b.Store.PostponeCleanup(b.ctx(), byID[bad.id], time.Minute)
	require.NoError(t, err)
	require.True(t, moved)
	require.Len(t, b.cleanups(), 1)
}

func cleanupCounted(t *testing.T, b *bench) {
	counted := func() int64 {
		count, err := b.Store.CountOutside(b.ctx())
		require.NoError(t, err)
		return count
	}
	require.Zero(t, counted())
	one, other := b.reserve().claim(), b.reserve().claim()
	require.Zero(t, counted())
	for range 2 {
		one.commit(goOn(), toUndo(theCleanup()))
		one.claim()
		require.Equal(t, int64(1), counted(), "it is counted once")
	}
	other.commit(goOn(), toUndo([]byte("task 8")))
	require.Equal(t, int64(2), counted())
	one.commit(completeWith("done"), toUndo(nil))
	require.Equal(t, int64(1), counted())
	other.claim()
	other.commit(goOn(), toUndo(theCleanup()))
	other.cancel()
	require.Equal(t, int64(1), counted(), "nobody has told the other side")
	other.cleanUp()
	require.Zero(t, counted())
	third := b.reserve(func(n *journal.NewExecution) { n.Retention = time.Hour }).claim()
	third.commit(goOn(), toUndo(theCleanup()))
	third.cancel()
	require.NoError(t, b.Store.Purge(b.ctx(), third.due()))
	require.Equal(t, journal.Gone, third.state())
	require.Zero(t, counted())
}
