package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// lostReply drops the reply of every mutating method once: the repeat answers as an undisturbed call does, and writes
// nothing.
func lostReply(t *testing.T, open Open) {
	t.Helper()
	fenced, commands, recovery := fencedCalls(), commandCalls(), recoveryCalls()
	for _, name := range methods[journal.Store]() {
		c, ok := fenced[name]
		if !ok {
			c, ok = commands[name]
		}
		switch _, reaper := recovery[name]; {
		case name == "Delete":
			t.Run("of "+name, func(t *testing.T) { t.Parallel(); loseDelete(t, open) })
		case name == "PostponeCleanup":
			t.Run("of "+name, func(t *testing.T) { t.Parallel(); losePostponedCleanup(t, open) })
		case ok:
			t.Run("of "+name, func(t *testing.T) { t.Parallel(); loseReply(t, open, c) })
		case reaper:
			t.Run("of "+name, func(t *testing.T) { t.Parallel(); loseReaperReply(t, open, name) })
		case !readingMethods()[name]:
			t.Errorf("method %s has no case", name)
		}
	}
	for kind, then := range map[string]journal.Then{
		"parks": ask(), "suspends": {Kind: journal.ThenSuspend, Suspension: policy()}, "ends": completeWith("done"),
		"waits": {Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: time.Second},
	} {
		t.Run("of a commit that "+kind, func(t *testing.T) {
			t.Parallel()
			loseReply(t, open, call{
				func(b *bench) *actor { return b.planned() },
				func(a *actor, h journal.Hold) (any, error) {
					return a.b.Store.Commit(a.b.ctx(), journal.Commit{Hold: h, Step: 1, Node: "node", Then: then})
				},
			})
		})
	}
}

func loseReply(t *testing.T, open Open, c call) {
	t.Helper()
	undisturbed := newBench(t, open, nil)
	twin := c.arrange(undisturbed)
	want, err := c.do(twin, twin.next())
	require.NoError(t, err)

	b := newBench(t, open, nil)
	a := c.arrange(b)
	hold := a.next()
	b.drop()
	_, err = c.do(a, hold)
	require.ErrorIs(t, err, journal.ErrUnavailable)
	b.clock.Advance(time.Second) // a repeat comes later
	b.unchanged(func() {
		got, err := c.do(a, hold)
		require.NoError(t, err)
		require.Equal(t, text(t, twin, want), text(t, a, got), "the repeat answers as before")
	})
}

// loseDelete repeats a delete: what it was to delete is not there any more.
func loseDelete(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open, nil)
	a := b.arrange(execution.Completed)
	b.drop()
	require.ErrorIs(t, b.Store.Delete(b.ctx(), a.id), journal.ErrUnavailable)
	require.Equal(t, journal.Gone, a.state())
	b.unchanged(func() { require.ErrorIs(t, b.Store.Delete(b.ctx(), a.id), journal.ErrNotFound) })
}

// losePostponedCleanup repeats a claim on an attempt: nobody knows who moved the entry, so nobody has it.
func losePostponedCleanup(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open, nil)
	b.unclean(execution.Completed)
	seen := b.cleanups()
	require.Len(t, seen, 1)
	b.drop()
	_, err := b.Store.PostponeCleanup(b.ctx(), seen[0], time.Second)
	require.ErrorIs(t, err, journal.ErrUnavailable)
	b.unchanged(func() {
		moved, err := b.Store.PostponeCleanup(b.ctx(), seen[0], time.Second)
		require.NoError(t, err)
		require.False(t, moved)
	})
	b.clock.Advance(time.Second)
	require.Len(t, b.cleanups(), 1, "the next attempt comes")
}

// text is an answer without what says that it is a repeat, or when the claim was answered.
func text(t *testing.T, a *actor, answer any) string {
	t.Helper()
	switch v := answer.(type) {
	case journal.Committed:
		v.Replayed = false
		answer = v
	case journal.Recorded:
		v.Replayed = false
		answer = v
	case journal.Mutation:
		v.Replayed = false
		answer = v
	case journal.Claimed:
		v.NowMs = 0
		answer = v
	}
	require.NotNil(t, a)
	return canonical(t, answer)
}

// loseReaperReply repeats a call of the reaper: it finds that the entry has moved and leaves it alone.
func loseReaperReply(t *testing.T, open Open, name string) {
	t.Helper()
	states := map[string]execution.State{
		"Requeue": execution.Running, "Postpone": execution.Running, "Expire": execution.Suspended,
		"Purge": execution.Completed,
	}
	b := newBench(t, open, nil)
	seen := b.arrange(states[name]).due()
	do := recoveryCalls()[name]
	b.drop()
	_, err := do(b, seen)
	require.ErrorIs(t, err, journal.ErrUnavailable)
	b.unchanged(func() {
		answer, err := do(b, seen)
		require.NoError(t, err)
		require.False(t, answer.Moved)
	})
}

// forgottenScripts runs every call with SCRIPT FLUSH before it.
func forgottenScripts(t *testing.T, open Open) {
	t.Helper()
	flush := func(b *bench) {
		if b.Flush != nil {
			b.Flush()
		}
	}
	all := fencedCalls()
	for name, c := range commandCalls() {
		all[name] = c
	}
	for name, c := range all {
		t.Run(name+" works when the scripts were forgotten", func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open, nil)
			a := c.arrange(b)
			flush(b)
			_, err := c.do(a, a.next())
			require.NoError(t, err)
		})
	}
	t.Run("sweep, requeue, expire and purge work when the scripts were forgotten", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, open, nil)
		a := b.arrange(execution.Running)
		flush(b)
		seen := a.due()
		flush(b)
		answer, err := b.Store.Requeue(b.ctx(), seen)
		require.NoError(t, err)
		require.True(t, answer.Moved)
		flush(b)
		_, err = b.Store.Requests(b.ctx(), []journal.Hold{a.hold})
		require.NoError(t, err)
		a.cancel()
		seen = a.due()
		flush(b)
		require.NoError(t, b.Store.Purge(b.ctx(), seen))
		require.Equal(t, journal.Gone, a.state())
	})
}
