package journaltest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func deleteClauses() []clause {
	return []clause{
		{name: "case D2: what has ended is deleted, and nothing of it stays", run: deleteEnded},
		{name: "what is open is not deleted", run: deleteOpen},
		{name: "what has a delegation to clean up is not deleted before", run: deleteCleanup},
		{name: "a conversation goes with its last execution", run: deleteConversation},
		{name: "a key answers that its execution was deleted, until that would have been purged", run: deleteKey},
	}
}

func (a *actor) delete() {
	a.b.t.Helper()
	require.NoError(a.b.t, a.b.Store.Delete(a.b.ctx(), a.id))
	require.Equal(a.b.t, journal.Gone, a.state())
}

func deleteEnded(t *testing.T, b *bench) {
	empty := b.Dump()
	for _, state := range execution.States()[5:] {
		a := b.arrange(state)
		a.delete()
		require.Equal(t, empty, b.Dump(), state)
		b.unchanged(func() { require.ErrorIs(t, b.Store.Delete(b.ctx(), a.id), journal.ErrNotFound) })
	}
}

func deleteOpen(t *testing.T, b *bench) {
	for _, state := range execution.States()[:5] {
		a := b.arrange(state)
		b.unchanged(func() { require.ErrorIs(t, b.Store.Delete(b.ctx(), a.id), journal.ErrState) })
	}
}

func deleteCleanup(t *testing.T, b *bench) {
	a := b.reserve().claim().attach()
	_, err := b.Store.Finish(b.ctx(), a.next(), anyState, completed())
	require.NoError(t, err)
	b.unchanged(func() { require.ErrorIs(t, b.Store.Delete(b.ctx(), a.id), journal.ErrCleanupOpen) })
	_, err = b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
	require.NoError(t, err)
	a.delete()
}

func deleteConversation(t *testing.T, b *bench) {
	first := b.reserve()
	second := b.reserve(func(n *journal.NewExecution) {
		n.ConversationID, n.Request.OnBusy = first.conv, execution.BusyEnqueue
	})
	second.conv = first.conv
	first.claim().commit(completeWith("one"))
	first.delete()
	second.claim().commit(completeWith("two"))
	history, err := b.Store.Messages(b.ctx(), second.id, 0, 10)
	require.NoError(t, err)
	require.Len(t, history, 2, "the history stays as long as somebody has it")
	second.delete()
	for key := range b.Dump() {
		require.NotContains(t, key, string(first.conv))
	}
}

func deleteKey(t *testing.T, b *bench) {
	for _, key := range []string{"k1", "k2", "k3"} { // their partitions are others than the execution's, or not
		submission := b.submission(func(n *journal.NewExecution) { n.IdempotencyKey = key })
		reserve := func() error {
			_, err := b.Store.Reserve(b.ctx(), submission)
			return err
		}
		require.NoError(t, reserve())
		a := &actor{b: b, id: submission.ID, conv: submission.ConversationID}
		a.cancel()
		require.NoError(t, reserve(), "the key has its execution")
		a.delete()
		b.clock.Advance(b.cfg.Retention - time.Millisecond)
		b.sweepKeys()
		b.unchanged(func() { require.ErrorIs(t, reserve(), journal.ErrGone) })
		submission.Fingerprint = "another request"
		b.unchanged(func() { require.ErrorIs(t, reserve(), journal.ErrGone) })
		b.clock.Advance(time.Millisecond)
		b.sweepKeys()
		for member := range b.Dump() {
			require.NotContains(t, member, "idem:", "nothing of the key stays")
		}
	}
}

// sweepKeys does what a reaper does about the keys whose time has come.
func (b *bench) sweepKeys() {
	b.t.Helper()
	for p := range execution.Partition(execution.Partitions) {
		found, err := b.Store.Sweep(b.ctx(), p, 1000)
		require.NoError(b.t, err)
		found = slices.DeleteFunc(found, func(due journal.Due) bool { return due.Action != journal.ActKey })
		for _, due := range found {
			require.NoError(b.t, b.Store.Purge(b.ctx(), due))
		}
	}
}
