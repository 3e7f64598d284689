package journaltest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func blobClauses() []clause {
	return []clause{
		{name: "case G3: a blob is written with the receipt that names it, byte for byte", run: blobWritten},
		{name: "a blob of a call that has its receipt is not written", run: blobOfAKnownCall},
		{name: "the same value of one execution is stored once; another execution has its own", run: blobOnce},
		{name: "a blob that is not there is not found", run: blobAbsent},
		{name: "case G2: a blob without receipt, hash or bound is refused", run: blobInvalid},
		{name: "a superseded holder writes no blob", run: blobFenced},
		{name: "a blob is there after the end, until its execution is purged", run: blobPurged},
	}
}

func blobOf(content []byte) journal.Blob {
	sum := sha256.Sum256(content)
	return journal.Blob{Hash: hex.EncodeToString(sum[:]), Content: content}
}

func withBlob(h journal.Hold, content []byte) journal.Record {
	q := receiptOf(h)
	q.Blobs = []journal.Blob{blobOf(content)}
	return q
}

func (a *actor) blob(content []byte) ([]byte, error) {
	return a.b.Store.Blob(a.b.ctx(), a.id, blobOf(content).Hash)
}

func blobWritten(t *testing.T, b *bench) {
	content := bytes.Repeat([]byte("\x00\xffa \r\n"), 200_000)
	a := b.planned()
	q := withBlob(a.hold, content)
	a.record(q)
	got, err := a.blob(content)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))
	b.unchanged(func() { require.True(t, a.record(q).Replayed) })
}

func blobOfAKnownCall(t *testing.T, b *bench) {
	a := b.planned()
	a.record(receiptOf(a.hold))
	b.unchanged(func() { require.True(t, a.record(withBlob(a.hold, []byte("late"))).Replayed) })
	_, err := a.blob([]byte("late"))
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func blobOnce(t *testing.T, b *bench) {
	const second execution.CallID = "call_0_1"
	a := b.reserve().claim()
	a.commit(goOn(), func(q *journal.Commit) {
		q.Plan = []journal.Plan{{CallID: theCall, Intent: []byte("one")}, {CallID: second, Intent: []byte("two")}}
		q.Batch = []execution.CallID{theCall, second}
	})
	a.claim()
	content := []byte("large")
	a.record(withBlob(a.hold, content))
	again := withBlob(a.hold, content)
	again.Calls, again.Events = []execution.CallID{second}, nil
	a.record(again)
	stored := 0
	for _, value := range b.Dump() {
		stored += strings.Count(value, string(content))
	}
	require.Equal(t, 1, stored)
	other := b.planned()
	_, err := other.blob(content)
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func blobAbsent(t *testing.T, b *bench) {
	a := b.planned()
	b.unchanged(func() {
		for _, hash := range []string{blobOf([]byte("never")).Hash, "", "no hash"} {
			_, err := b.Store.Blob(b.ctx(), a.id, hash)
			require.ErrorIs(t, err, journal.ErrNotFound)
		}
		_, err := b.Store.Blob(b.ctx(), testID(thePartition, 998), blobOf(nil).Hash)
		require.ErrorIs(t, err, journal.ErrNotFound)
	})
}

func blobInvalid(t *testing.T, b *bench) {
	a := b.planned()
	b.unchanged(func() {
		for _, change := range []func(*journal.Record){
			func(q *journal.Record) { q.State, q.Receipts, q.Events = journal.Started, nil, nil },
			func(q *journal.Record) { q.Blobs[0].Hash = "abc" },
			func(q *journal.Record) { q.Blobs[0].Hash = strings.ToUpper(q.Blobs[0].Hash) },
			func(q *journal.Record) { q.Blobs[0].Content = make([]byte, journal.MaxBlobBytes+1) },
		} {
			q := withBlob(a.hold, []byte("large"))
			change(&q)
			_, err := b.Store.Record(b.ctx(), q)
			require.ErrorIs(t, err, journal.ErrConflict)
		}
	})
}

func blobFenced(t *testing.T, b *bench) {
	a := b.planned()
	old := a.hold
	a.runOut().claim()
	b.unchanged(func() {
		_, err := b.Store.Record(b.ctx(), withBlob(old, []byte("late")))
		require.ErrorIs(t, err, journal.ErrFenced)
	})
}

func blobPurged(t *testing.T, b *bench) {
	content := []byte("large")
	a := b.planned()
	a.record(withBlob(a.hold, content))
	a.commit(completeWith("done"))
	got, err := a.blob(content)
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.NoError(t, b.Store.Purge(b.ctx(), a.due()))
	_, err = a.blob(content)
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.Empty(t, b.Dump(), "nothing is left")
}
