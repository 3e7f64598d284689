package reaper_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/queue"
	"github.com/pawl-run/pawl/reaper"
)

const recoveryTimeout = time.Minute

func TestMain(m *testing.M) { redistest.Main(m) }

// installation is a journal and a queue on a real Redis, and the clients that reapers use.
type installation struct {
	rdb   *redis.Client
	store *redisjournal.Store
	tasks *queue.Client
}

func install(t *testing.T, server *redistest.Server) *installation {
	t.Helper()
	return installFor(t, server, 200*time.Millisecond)
}

// installFor keeps what has ended for a while.
func installFor(t *testing.T, server *redistest.Server, retention time.Duration) *installation {
	t.Helper()
	rdb, prefix := server.Client(t), redistest.Prefix()
	logger := slog.New(slog.DiscardHandler)
	store, err := redisjournal.New(rdb, redisjournal.Config{
		Config: journal.Config{HandoffGrace: 50 * time.Millisecond, Retention: retention, SweepLock: -1},
		Prefix: prefix, Logger: logger,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	tasks, err := queue.NewClient(rdb, queue.ClientConfig{Prefix: prefix, Logger: logger})
	require.NoError(t, err)
	return &installation{rdb: rdb, store: store, tasks: tasks}
}

func (i *installation) reaper(t *testing.T) *reaper.Reaper {
	t.Helper()
	r, err := reaper.New(i.store, i.tasks, reaper.Config{
		Interval: 50 * time.Millisecond, Grace: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return r
}

// reserve stores executions of an agent that nobody here knows, and hands none of them over.
func (i *installation) reserve(t *testing.T, n int) []execution.ID {
	t.Helper()
	ids := make([]execution.ID, n)
	for k := range ids {
		p := execution.Partition(k % execution.Partitions)
		ids[k] = execution.NewID(p)
		_, err := i.store.Reserve(t.Context(), journal.NewExecution{
			ID: ids[k], ConversationID: execution.NewConversationID(p), Caller: execution.LocalCaller(), Fingerprint: "f",
			Request: execution.CreateRequest{
				Agent: "unregistered", Input: execution.Input{Type: execution.UserMessage, Text: "x"},
			},
			Definition: "unknown", Checkpoint: []byte("{}"), Node: "run_start", Messages: [][]byte{[]byte("{}")},
		})
		require.NoError(t, err)
	}
	return ids
}

func (i *installation) claim(t *testing.T, id execution.ID, ttl time.Duration) journal.Claimed {
	t.Helper()
	claimed, err := i.store.Claim(t.Context(), journal.ClaimRequest{
		Execution: id, Worker: "w", Nonce: rand.Text()[:16], TTL: ttl,
	})
	require.NoError(t, err)
	return claimed
}

// queued counts the tasks in all queues and states.
func (i *installation) queued(t *testing.T) int64 {
	t.Helper()
	depths, err := i.tasks.Depth(t.Context())
	require.NoError(t, err)
	var n int64
	for _, depth := range depths {
		n += depth.Pending + depth.Active + depth.Scheduled + depth.Retry + depth.Archived
	}
	return n
}

func (i *installation) state(t *testing.T, id execution.ID) execution.State {
	t.Helper()
	row, err := i.store.Get(t.Context(), id)
	require.NoError(t, err)
	return row.State
}

// eventually repeats passes until done.
func eventually(t *testing.T, r *reaper.Reaper, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(recoveryTimeout)
	for !done() {
		require.True(t, time.Now().Before(deadline), "not recovered in time: %+v", r.Total())
		_, err := r.Pass(t.Context())
		require.NoError(t, err)
	}
}

// Case B12: a task that is standing is never enqueued again, however many reapers look, and however long it waits.
func TestCaseB12_LostHandOversAreEnqueuedOnceByAnyNumberOfReapers(t *testing.T) {
	t.Parallel()
	i := install(t, redistest.Start(t))
	i.reserve(t, 200)
	reapers := []*reaper.Reaper{i.reaper(t), i.reaper(t), i.reaper(t)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var group sync.WaitGroup
	for _, r := range reapers {
		group.Go(func() { _ = r.Run(ctx) }) // Run has no error
	}
	group.Wait()
	require.Equal(t, int64(200), i.queued(t))
	var sum reaper.Report
	for _, r := range reapers {
		sum = sum.Add(r.Total())
	}
	require.Equal(t, int64(200), sum.Requeued)
	require.Positive(t, sum.Postponed, "they were looked at again while they stood")
	require.Zero(t, sum.Bad)
}

// Case A13: a reclaim is an enqueue; an execution that is running always has a claim or a task.
func TestCaseA13_AClaimThatRanOutIsEnqueuedAndCanBeTakenAgain(t *testing.T) {
	t.Parallel()
	i := install(t, redistest.Start(t))
	id := i.reserve(t, 1)[0]
	first := i.claim(t, id, 100*time.Millisecond)
	r := i.reaper(t)
	eventually(t, r, func() bool { return i.queued(t) == 1 })
	again := i.claim(t, id, time.Minute)
	require.True(t, again.Reclaimed)
	require.NotEqual(t, first.Fence, again.Fence)
	require.Equal(t, int64(1), r.Total().Requeued)
}

// Case A17: the reaper only wakes. Executions of an agent that nobody knows are requeued and never failed.
func TestCaseA17_WhatTheReaperCannotRunItOnlyRequeues(t *testing.T) {
	t.Parallel()
	i := install(t, redistest.Start(t))
	id := i.reserve(t, 1)[0]
	r := i.reaper(t)
	for range 3 {
		before := r.Total().Requeued
		i.claim(t, id, 50*time.Millisecond)
		eventually(t, r, func() bool { return r.Total().Requeued > before })
		require.Equal(t, execution.Running, i.state(t, id))
	}
}

// Case A6: entries whose rows are missing or unreadable neither stop the sweep nor come back in every pass.
func TestCaseA6_PoisonedRowsDoNotBlockTheSweep(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	i := install(t, server)
	ids := i.reserve(t, 3*execution.Partitions)
	rows, err := i.rdb.Keys(t.Context(), "*:x:"+"*").Result()
	require.NoError(t, err)
	byID := make(map[string]string, len(rows))
	for _, key := range rows {
		if len(key) > 31 {
			byID[key[len(key)-33:]] = key
		}
	}
	for k, id := range ids {
		key, ok := byID[string(id)]
		require.True(t, ok, "row of %s", id)
		switch k / execution.Partitions {
		case 0: // gone
			require.NoError(t, i.rdb.Del(t.Context(), key).Err())
		case 1: // of another type
			require.NoError(t, i.rdb.Del(t.Context(), key).Err())
			require.NoError(t, i.rdb.Set(t.Context(), key, "nonsense", 0).Err())
		}
	}
	r := i.reaper(t)
	deadline := time.Now().Add(recoveryTimeout)
	for i.queued(t) < execution.Partitions {
		require.True(t, time.Now().Before(deadline), "%+v", r.Total())
		_, _ = r.Pass(t.Context()) // its errors name the bad rows
	}
	require.Equal(t, int64(execution.Partitions), r.Total().Bad)
	report, err := r.Pass(t.Context())
	require.NoError(t, err, "bad entries were moved on")
	require.Zero(t, report.Bad)
}

// Case A10: Redis is killed in the middle of sweeps and comes back; every execution is still reclaimed.
func TestCaseA10_ARedisThatDiesMidSweepCostsNoExecution(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	i := install(t, server)
	ids := i.reserve(t, 300)
	for _, id := range ids[:150] {
		i.claim(t, id, 100*time.Millisecond)
	}
	r := i.reaper(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	require.Eventually(t, func() bool { return r.Total().Swept > 0 }, recoveryTimeout, time.Millisecond)
	server.Kill()
	require.Eventually(t, func() bool { return r.Total().Errors > 0 }, recoveryTimeout, 5*time.Millisecond)
	server.Restart(t)
	require.Eventually(t, func() bool {
		depths, err := i.tasks.Depth(ctx)
		if err != nil {
			return false
		}
		var n int64
		for _, depth := range depths {
			n += depth.Pending
		}
		return n == int64(len(ids))
	}, recoveryTimeout, 20*time.Millisecond, "every execution has its task")
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, int64(len(ids)), i.queued(t), "and only one")
}

func TestPass_PurgesWhatEndedAndExpiresWhatIsOver(t *testing.T) {
	t.Parallel()
	i := install(t, redistest.Start(t))
	ids := i.reserve(t, 100)
	for _, id := range ids {
		_, err := i.store.Cancel(t.Context(), id)
		require.NoError(t, err)
	}
	r := i.reaper(t)
	eventually(t, r, func() bool { return r.Total().Purged == int64(len(ids)) })
	keys, err := i.rdb.Keys(t.Context(), "*exec_*").Result()
	require.NoError(t, err)
	require.Empty(t, keys)
}

func BenchmarkPass_NothingDue(b *testing.B) {
	server := redistest.Shared(b)
	store, err := redisjournal.New(server.Client(b), redisjournal.Config{
		Config: journal.Config{SweepLock: -1}, Prefix: redistest.Prefix(),
	})
	require.NoError(b, err)
	tasks, err := queue.NewClient(server.Client(b), queue.ClientConfig{})
	require.NoError(b, err)
	r, err := reaper.New(store, tasks, reaper.Config{})
	require.NoError(b, err)
	for b.Loop() {
		if _, err := r.Pass(b.Context()); err != nil {
			b.Fatal(fmt.Errorf("pass: %w", err))
		}
	}
	require.NoError(b, store.Close())
}
