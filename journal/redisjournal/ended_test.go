package redisjournal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// hashed is a submission with what the API gives every one: hashes in hex.
func hashed(n journal.NewExecution) journal.NewExecution {
	n.Fingerprint, n.Definition = strings.Repeat("0f", 32), strings.Repeat("d7", 32)
	return n
}

// end reserves an execution and takes it to its end in one step.
func (w *world) end(n journal.NewExecution) journal.Execution {
	w.t.Helper()
	_, err := w.store.Reserve(w.ctx(), n)
	require.NoError(w.t, err)
	w.commit(w.claim(n.ID, "nonce"), journal.Then{
		Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "done"},
	})
	return w.get(n.ID)
}

// A row that has ended is one small listpack: it holds nothing that says nothing any more, and nothing long.
func TestARowThatHasEndedIsKeptSmall(t *testing.T) {
	t.Parallel()
	w := open(t)
	n := hashed(newExecution(7))
	row := w.end(n)
	require.Equal(t, n.Definition, row.Definition)
	require.Equal(t, n.Request, row.Request)
	require.Equal(t, execution.Normal, row.Priority)
	require.Equal(t, "default", row.Queue)
	require.Equal(t, &execution.Outcome{Answer: "done"}, row.Outcome)
	require.Equal(t, w.now.UnixMilli(), row.UpdatedAtMs)
	require.Equal(t, w.now.UnixMilli(), row.EndedAtMs)

	key := w.store.keys.row(n.ID)
	require.Equal(t, "listpack", w.rdb.ObjectEncoding(w.ctx(), key).Val())
	require.LessOrEqual(t, w.rdb.MemoryUsage(w.ctx(), key, 0).Val(), int64(650))
	for name, value := range w.rdb.HGetAll(w.ctx(), key).Val() {
		require.NotEmpty(t, value, name)
		require.LessOrEqual(t, len(value), 64, name)
	}
	checkpoints, err := w.store.Checkpoints(w.ctx(), n.ID, 0, 10)
	require.NoError(t, err)
	require.Len(t, checkpoints, 2, "the long fields behind them are none")
	for from := range execution.Step(4) {
		page, err := w.store.Checkpoints(w.ctx(), n.ID, from, 1)
		require.NoError(t, err)
		require.Len(t, page, max(0, min(1, 2-int(from))))
	}
}

// asEarlier gives a row that has ended the form in which an earlier release left it.
func (w *world) asEarlier(n journal.NewExecution, row journal.Execution) {
	w.t.Helper()
	keys := w.store.keys.execution(n.ID)
	long, err := w.rdb.LRange(w.ctx(), keys[keyCheckpoints], int64(row.Step)+1, -1).Result()
	require.NoError(w.t, err)
	require.NotEmpty(w.t, long)
	require.NoError(w.t, w.rdb.LTrim(w.ctx(), keys[keyCheckpoints], 0, int64(row.Step)).Err())
	require.NoError(w.t, w.rdb.RPush(w.ctx(), keys[keyRow]+":blobs", long).Err())
	require.NoError(w.t, w.rdb.HSet(w.ctx(), keys[keyRow], "id", string(n.ID), "priority", "normal", "queue", "default",
		"updatedAtMs", row.UpdatedAtMs, "definition", n.Definition, "fingerprint", n.Fingerprint).Err())
	if n.IdempotencyKey != "" {
		key := w.store.keys.idempotency(n.Caller, n.IdempotencyKey)
		require.NoError(w.t, w.rdb.HSet(w.ctx(), key, "fingerprint", n.Fingerprint).Err())
	}
	log, err := w.rdb.LRange(w.ctx(), keys[keyEvents], 0, -1).Result()
	require.NoError(w.t, err)
	for i, entry := range log {
		at, stored, _ := strings.Cut(entry, " ")
		require.NoError(w.t, w.rdb.LSet(w.ctx(), keys[keyEvents], int64(i), at+" "+string(longEvent(stored))).Err())
	}
}

func TestRowsThatAnEarlierReleaseEndedAreReadAndPurged(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]journal.NewExecution{
		"without a key": hashed(newExecution(7)), "with a key": hashed(keyed("k", "", "")),
		"with a key elsewhere": hashed(keyed("k", "", elsewhere("k"))),
	} {
		w := open(t)
		row := w.end(n)
		types := w.types(n.ID)
		w.asEarlier(n, row)
		require.Equal(t, row, w.get(n.ID), name)
		require.Equal(t, types, w.types(n.ID), name)
		again, err := w.store.Reserve(w.ctx(), n)
		require.NoError(t, err, name)
		require.False(t, again.Created, name)
		require.Equal(t, row, again.Execution, name)
		other := n
		other.Fingerprint = strings.Repeat("1f", 32)
		_, err = w.store.Reserve(w.ctx(), other)
		require.ErrorIs(t, err, journal.ErrConflict, name)

		w.now = w.now.Add(w.store.cfg.Retention + time.Minute)
		all, err := w.store.SweepAll(w.ctx(), 10)
		require.NoError(t, err)
		for _, due := range all {
			require.NoError(t, w.store.Purge(w.ctx(), due), name)
		}
		require.Empty(t, allKeys(w.ctx(), t, w.rdb, w.cfg.Prefix), name)
	}
}
