package redisjournal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// ended is an execution that has ended, with a key.
func (w *world) ended(key string, conversation execution.ConversationID) journal.NewExecution {
	w.t.Helper()
	n := keyed(key, "f", conversation)
	_, err := w.store.Reserve(w.ctx(), n)
	require.NoError(w.t, err)
	_, err = w.store.Cancel(w.ctx(), n.ID)
	require.NoError(w.t, err)
	return n
}

func TestWhatHasEndedIsDeletedAndReleasedWhenMemoryIsFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := openOn(t, server.Client(t))
	near, apart := w.ended("near", ""), w.ended("apart", elsewhere("apart"))
	held := w.reserve()
	w.claim(held, "n1")
	fill(t, w.rdb)
	change, err := w.store.TakeBack(w.ctx(), held)
	require.NoError(t, err)
	require.True(t, change.Changed)
	for _, n := range []journal.NewExecution{near, apart} {
		require.NoError(t, w.store.Delete(w.ctx(), n.ID))
		_, err := w.store.Get(w.ctx(), n.ID)
		require.ErrorIs(t, err, journal.ErrNotFound)
	}
	require.NoError(t, w.rdb.ConfigSet(w.ctx(), "maxmemory", "0").Err())
	w.store.memory = newMemoryGuard(w.rdb)
	for _, n := range []journal.NewExecution{near, apart} {
		_, err := w.store.Reserve(w.ctx(), n)
		require.ErrorIs(t, err, journal.ErrGone)
	}
}

func TestEveryMoveOfADeleteMayBeRepeated(t *testing.T) {
	t.Parallel()
	for move := range 3 { // ask, mark, row
		w := open(t)
		n := w.ended("k", elsewhere("k"))
		lose := &losing{skip: move}
		w.rdb.AddHook(lose)
		lose.armed.Store(true)
		require.ErrorIs(t, w.store.Delete(w.ctx(), n.ID), journal.ErrUnavailable)
		err := w.store.Delete(w.ctx(), n.ID)
		if move == 2 {
			require.ErrorIs(t, err, journal.ErrNotFound, "it is gone already")
		} else {
			require.NoError(t, err)
		}
		_, err = w.store.Reserve(w.ctx(), n)
		require.ErrorIs(t, err, journal.ErrGone)
	}
}

// A delete that ended behind the mark of the key leaves a row that is purged in its time, and the mark with it.
func TestADeleteThatStoppedHalfWayIsPurged(t *testing.T) {
	t.Parallel()
	w := open(t)
	n := w.ended("k", elsewhere("k"))
	lose := &losing{skip: 1}
	w.rdb.AddHook(lose)
	lose.armed.Store(true)
	require.ErrorIs(t, w.store.Delete(w.ctx(), n.ID), journal.ErrUnavailable)
	_, err := w.store.Reserve(w.ctx(), n)
	require.ErrorIs(t, err, journal.ErrGone)
	w.now = w.now.Add(169 * time.Hour)
	w.purgeAll()
	require.Empty(t, dump(t, w.rdb, w.cfg.Prefix))
}

// A submission that looked at its key of another partition before a delete marked it does not bring the row back.
func TestASubmissionUnderWayDoesNotBringADeletedRowBack(t *testing.T) {
	t.Parallel()
	w := open(t)
	n := w.ended("k", elsewhere("k"))
	require.NoError(t, w.store.Delete(w.ctx(), n.ID))
	before := dump(t, w.rdb, w.cfg.Prefix)
	_, err := w.store.reserveRow(w.ctx(), n, "write")
	require.ErrorIs(t, scriptError(err), journal.ErrGone)
	require.Equal(t, before, dump(t, w.rdb, w.cfg.Prefix))
	left, err := w.rdb.PTTL(w.ctx(), w.store.keys.row(n.ID)+":gone").Result()
	require.NoError(t, err)
	require.Positive(t, left)
	require.LessOrEqual(t, left, goneLasts)
}
