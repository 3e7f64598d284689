package journaltest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func reserveClauses() []clause {
	return []clause{
		{name: "contract C, NewJournalExecution and JournalExecution: the row is what was submitted", run: reserveRow},
		{name: "overrides come back as they were given, with the row and with every claim", run: reserveOverrides},
		{name: "contract C, reserve: row, checkpoint 0, first event and entry are there at once", run: reserveWhole},
		{name: "contract C, reserve and JournalReservation: the same key and request give the existing row, whatever its state", run: reserveAgain},
		{name: "contract C, reserve: the same key and another request is refused", run: reserveOther},
		{name: "a key that a request of another partition used is refused", run: keyOfAnotherPartition},
		{name: "contract C, reserve: another caller's equal key is another key", run: reserveCaller},
		{name: "case A1: 50 concurrent reservations with one key make one execution", run: reserveConcurrently},
		{name: "the same id without a key answers as before; for another request it is refused", run: reserveSameID},
		{name: "an execution in another partition than its conversation is refused", run: reservePartition},
		{name: "a start time in the future waits for it", run: reserveLater},
		{name: "the queue is the priority's, or the one that was named, and new ones stand apart", run: reserveQueue},
		{name: "contract C, get: an unknown execution is not found", run: getUnknown},
		{name: "a canceled context writes nothing", run: canceledContext},
		{name: "open executions are counted until they end", run: countOpen},
		{name: "definitions are stored once by hash", run: definitions},
	}
}

func reserveRow(t *testing.T, b *bench) {
	n := b.submission(func(n *journal.NewExecution) {
		n.IdempotencyKey, n.Request.Priority, n.Deadline = "key", execution.High, time.Hour
	})
	answer, err := b.Store.Reserve(b.ctx(), n)
	require.NoError(t, err)
	now := b.clock.Ms()
	want := journal.Execution{
		ID: n.ID, ConversationID: n.ConversationID, Caller: n.Caller, IdempotencyKey: "key", Agent: "demo",
		Definition: "abc", Request: n.Request, Priority: execution.High, Queue: "high", State: execution.Queued,
		Node: "run_start", Version: 1, Wake: 1, Active: true, HistoryEnd: 1, CreatedAtMs: now, UpdatedAtMs: now,
		LastSequence: 1,
	}
	require.Equal(t, rowText(t, want), rowText(t, answer.Execution))
	row, err := b.Store.Get(b.ctx(), n.ID)
	require.NoError(t, err)
	require.Equal(t, rowText(t, want), rowText(t, row))
}

func reserveOverrides(t *testing.T, b *bench) {
	for i, overrides := range append(awkward(), nil) {
		a := b.reserve(func(n *journal.NewExecution) { n.Overrides = overrides })
		want := string(overrides)
		require.Equal(t, want, string(a.row().Overrides), i)
		a.claim()
		require.Equal(t, want, string(a.claimed.Execution.Overrides), i)
		a.commit(goOn())
		a.claim()
		require.Equal(t, want, string(a.claimed.Execution.Overrides), "every claim brings them")
		a.commit(completeWith("done"))
		require.Equal(t, want, string(a.row().Overrides), "and they stay with a row that has ended")
	}
}

func reserveWhole(t *testing.T, b *bench) {
	a := b.reserve()
	require.Equal(t, []execution.Task{{Execution: a.id, Step: 0, Wake: 1, Queue: "default-new"}}, a.tasks)
	require.Equal(t, []execution.EventType{execution.TypeExecutionQueued}, a.types())
	checkpoints, err := b.Store.Checkpoints(b.ctx(), a.id, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []journal.StoredCheckpoint{{Data: []byte("checkpoint 0"), AtMs: b.clock.Ms()}}, checkpoints)
	messages, err := b.Store.Messages(b.ctx(), a.id, 0, 10)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("hello")}, messages)
	entry := a.entry()
	require.Equal(t, "handoff", entry.Index)
	require.Equal(t, b.clock.Ms()+b.cfg.HandoffGrace.Milliseconds(), entry.AtMs)
}

func keyed(n *journal.NewExecution) { n.IdempotencyKey, n.Fingerprint = "key", "print" }

func reserveAgain(t *testing.T, b *bench) {
	a := b.reserve(keyed)
	for _, end := range []bool{false, true} {
		if end {
			a.cancel()
		}
		b.unchanged(func() {
			answer, err := b.Store.Reserve(b.ctx(), b.submission(keyed))
			require.NoError(t, err)
			require.False(t, answer.Created)
			require.Equal(t, rowText(t, a.row()), rowText(t, answer.Execution))
			require.Equal(t, !end, len(answer.Tasks) == 1, "a task that may have been lost comes again")
		})
	}
}

func reserveOther(t *testing.T, b *bench) {
	b.reserve(keyed)
	b.unchanged(func() {
		n := b.submission(keyed)
		n.Fingerprint = "another"
		_, err := b.Store.Reserve(b.ctx(), n)
		require.ErrorIs(t, err, journal.ErrKeyReused)
		require.ErrorIs(t, err, journal.ErrConflict)
	})
}

func reserveCaller(t *testing.T, b *bench) {
	a := b.reserve(keyed)
	other := b.reserve(keyed, func(n *journal.NewExecution) { n.Caller.Subject = "somebody else" })
	require.NotEqual(t, a.id, other.id)
}

func reserveConcurrently(t *testing.T, b *bench) {
	n := b.submission(keyed)
	var wg sync.WaitGroup
	created := make(chan bool, 50)
	for range 50 {
		wg.Go(func() {
			answer, err := b.Store.Reserve(context.Background(), n)
			if err == nil {
				created <- answer.Created
			}
		})
	}
	wg.Wait()
	close(created)
	count := map[bool]int{}
	for c := range created {
		count[c]++
	}
	require.Equal(t, map[bool]int{true: 1, false: 49}, count)
}

func reserveSameID(t *testing.T, b *bench) {
	n := b.submission()
	_, err := b.Store.Reserve(b.ctx(), n)
	require.NoError(t, err)
	b.unchanged(func() {
		answer, err := b.Store.Reserve(b.ctx(), n)
		require.NoError(t, err)
		require.False(t, answer.Created)
		n.Fingerprint = "another"
		_, err = b.Store.Reserve(b.ctx(), n)
		require.ErrorIs(t, err, journal.ErrConflict)
	})
}

func reservePartition(t *testing.T, b *bench) {
	b.unchanged(func() {
		_, err := b.Store.Reserve(b.ctx(), b.submission(func(n *journal.NewExecution) {
			n.ConversationID = testConversation(thePartition+1, 1)
		}))
		require.ErrorIs(t, err, journal.ErrConflict)
	})
}

func reserveLater(t *testing.T, b *bench) {
	at := b.clock.Ms() + 60_000
	a := b.reserve(func(n *journal.NewExecution) { n.Request.StartAtMs = at })
	require.Empty(t, a.tasks)
	require.Equal(t, &execution.Wait{Kind: execution.WaitSchedule, UntilMs: at}, a.row().Wait)
	refused := &journal.ClaimRefused{}
	require.ErrorAs(t, a.tryClaim(), &refused)
	require.Equal(t, journal.ClaimEarly, refused.Reason)
	require.Equal(t, time.Minute, refused.RetryAfter)
	seen := a.due()
	require.Equal(t, journal.ActRequeue, seen.Action)
	answer, err := b.Store.Requeue(b.ctx(), seen)
	require.NoError(t, err)
	require.Equal(t, []execution.Task{{Execution: a.id, Wake: 1, Queue: "default-new"}}, answer.Tasks)
	a.claim()
	require.Nil(t, a.row().Wait)
}

func reserveQueue(t *testing.T, b *bench) {
	for priority, queue := range map[execution.Priority]string{
		"": "default", execution.High: "high", execution.Normal: "default", execution.Low: "low",
	} {
		a := b.reserve(func(n *journal.NewExecution) { n.Request.Priority = priority })
		require.Equal(t, queue+"-new", a.tasks[0].Queue)
		require.Equal(t, queue, a.claim().commit(goOn()).Tasks[0].Queue)
	}
	own := b.reserve(func(n *journal.NewExecution) { n.Queue = "gpu" })
	require.Equal(t, "gpu-new", own.tasks[0].Queue)
	require.Equal(t, "gpu", own.row().Queue)
}

func getUnknown(t *testing.T, b *bench) {
	id := testID(thePartition, 1)
	_, err := b.Store.Get(b.ctx(), id)
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.Store.EventPage(b.ctx(), id, 0, 1)
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.Store.Checkpoints(b.ctx(), id, 0, 1)
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.Store.Messages(b.ctx(), id, 0, 1)
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.Store.Ledger(b.ctx(), id, []execution.CallID{theCall})
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.Store.Claim(b.ctx(), journal.ClaimRequest{Execution: id, Worker: "w", Nonce: "n", TTL: ttl})
	require.ErrorIs(t, err, journal.ErrNotFound)
	for name, c := range fencedCalls() {
		a := &actor{b: b, id: id}
		_, err := c.do(a, journal.Hold{Execution: id, Fence: "1-n", Operation: 1})
		require.ErrorIs(t, err, journal.ErrNotFound, name)
	}
}

func canceledContext(t *testing.T, b *bench) {
	a := b.planned()
	commit := a.commitOf(goOn())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.unchanged(func() {
		_, err := b.Store.Reserve(ctx, b.submission())
		require.Error(t, err)
		_, err = b.Store.Commit(ctx, commit)
		require.Error(t, err)
		_, err = b.Store.Cancel(ctx, a.id)
		require.Error(t, err)
		_, err = b.Store.Get(ctx, a.id)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func countOpen(t *testing.T, b *bench) {
	for i, state := range execution.States() {
		b.arrange(state)
		open, err := b.Store.OpenExecutions(b.ctx())
		require.NoError(t, err)
		require.EqualValues(t, min(i+1, 5), open)
	}
}

func definitions(t *testing.T, b *bench) {
	_, err := b.Store.Definition(b.ctx(), "hash")
	require.ErrorIs(t, err, journal.ErrNotFound)
	for i, definition := range awkward() {
		hash := fmt.Sprint("hash", i)
		require.NoError(t, b.Store.PutDefinition(b.ctx(), hash, definition))
		b.unchanged(func() { require.NoError(t, b.Store.PutDefinition(b.ctx(), hash, []byte("another"))) })
		got, err := b.Store.Definition(b.ctx(), hash)
		require.NoError(t, err)
		require.Equal(t, string(definition), string(got))
	}
}

// awkward are bytes that a careless store changes on the way.
func awkward() [][]byte {
	big := make([]byte, 1<<20)
	for i := range big {
		big[i] = byte(i * 7)
	}
	return [][]byte{
		{}, {0}, {0xff, 0xfe, 0x80}, []byte(`{"a":[]}`), []byte(`{"n":9007199254740993}`), []byte("\r\n"), []byte("nil"), big,
	}
}

func keyOfAnotherPartition(t *testing.T, b *bench) {
	own := execution.KeyPartition(caller(), "key")
	elsewhere := own + 1
	submit := func(p execution.Partition, fingerprint string) error {
		_, err := b.Store.Reserve(b.ctx(), b.submission(keyed, func(n *journal.NewExecution) {
			n.ID, n.ConversationID, n.Fingerprint = testID(p, 1), testConversation(p, 1), fingerprint
		}))
		return err
	}
	require.NoError(t, submit(elsewhere, "one"))
	b.unchanged(func() { require.ErrorIs(t, submit(own, "another"), journal.ErrKeyReused) })
}
