package redisjournal

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

func TestMain(m *testing.M) {
	redistest.Main(m, func() error { return goleak.Find() })
}

// world is a store on a real Redis with a clock that moves when told.
type world struct {
	t     *testing.T
	rdb   *redis.Client
	store *Store
	cfg   Config
	now   time.Time
	heard *redis.PubSub // see listen
}

// open starts a world on the shared server under a prefix of its own.
func open(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	return openOn(t, redistest.Shared(t).Client(t), change...)
}

func openOn(t *testing.T, rdb *redis.Client, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, rdb: rdb, now: time.UnixMilli(1_764_420_000_000)}
	w.cfg = Config{Prefix: redistest.Prefix()}
	w.cfg.Now = func() time.Time { return w.now }
	w.cfg.SweepLock = -1
	for _, apply := range change {
		apply(&w.cfg)
	}
	store, err := New(rdb, w.cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	w.store = store
	return w
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	w.t.Cleanup(cancel)
	return ctx
}

// newExecution is a submission in partition p.
func newExecution(p execution.Partition) journal.NewExecution {
	return journal.NewExecution{
		ID: execution.NewID(p), ConversationID: execution.NewConversationID(p), Fingerprint: "f",
		Caller:  execution.LocalCaller(),
		Request: execution.CreateRequest{Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "hi"}},
		Node:    "run_start", Checkpoint: []byte(`{"v":1}`), Messages: [][]byte{[]byte(`{"role":"user"}`)},
	}
}

func (w *world) reserve() execution.ID {
	w.t.Helper()
	r, err := w.store.Reserve(w.ctx(), newExecution(7))
	require.NoError(w.t, err)
	require.True(w.t, r.Created)
	require.Len(w.t, r.Tasks, 1)
	return r.Execution.ID
}

func (w *world) claim(id execution.ID, nonce string) journal.Claimed {
	w.t.Helper()
	c, err := w.store.Claim(w.ctx(), journal.ClaimRequest{
		Execution: id, Worker: "w1", Nonce: nonce, TTL: 15 * time.Second, MaxReclaims: 2,
	})
	require.NoError(w.t, err)
	return c
}

func (w *world) commit(c journal.Claimed, then journal.Then) journal.Committed {
	w.t.Helper()
	answer, err := w.store.Commit(w.ctx(), next(c, then))
	require.NoError(w.t, err)
	return answer
}

// next is the commit of a claimed step.
func next(c journal.Claimed, then journal.Then) journal.Commit {
	return journal.Commit{
		Hold: journal.Hold{Execution: c.Execution.ID, Fence: c.Fence}, Step: c.Execution.Step,
		Node: "prepare_model_request", Checkpoint: []byte(`{"v":1}`), Then: then,
	}
}

func (w *world) get(id execution.ID) journal.Execution {
	w.t.Helper()
	row, err := w.store.Get(w.ctx(), id)
	require.NoError(w.t, err)
	return row
}

// types is the log as event types.
func (w *world) types(id execution.ID) []execution.EventType {
	w.t.Helper()
	events, err := w.store.Events(w.ctx(), id, 0, 1000)
	require.NoError(w.t, err)
	var types []execution.EventType
	for i, event := range events {
		require.Equal(w.t, execution.Sequence(i+1), event.Sequence)
		types = append(types, event.Payload.EventType())
	}
	return types
}

// dump is every key of the prefix, byte for byte.
func dump(t *testing.T, rdb redis.UniversalClient, prefix string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out := make(map[string]string)
	for _, key := range allKeys(ctx, t, rdb, prefix) {
		value, err := describe(ctx, rdb, key)
		require.NoError(t, err)
		out[key] = value
	}
	return out
}
