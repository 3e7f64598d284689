package executor

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
)

func TestMain(m *testing.M) {
	redistest.Main(m, func() error { return goleak.Find() })
}

// onRedis opens worlds on a real Redis whose clock jumps by 20 s whenever there is nothing to do.
func onRedis(t *testing.T) func(*local.Kit) *world {
	t.Helper()
	rdb := redistest.Shared(t).Client(t)
	return func(kit *local.Kit) *world {
		store, pass := jumping(t, rdb)
		return newWorldOn(t, store, pass, &agent.Definition{}, kit, nil)
	}
}

// jumping is a journal on Redis whose clock jumps by 20 s at each pass.
func jumping(t *testing.T, rdb redis.UniversalClient) (store *redisjournal.Store, pass func()) {
	t.Helper()
	var ahead atomic.Int64
	cfg := redisjournal.Config{Prefix: redistest.Prefix()}
	cfg.SweepLock = -1
	cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	store, err := redisjournal.New(rdb, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store, func() { ahead.Add(int64(20 * time.Second)) }
}

func TestCasesB9AndK3_RandomAgentsReachTheirEndOnRedis(t *testing.T) {
	t.Parallel()
	open := onRedis(t)
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt, rapid.SampledFrom([]int{1, 8}).Draw(rt, "nodes per task"))
		if problem := simulate(p, open); problem != "" {
			rt.Fatalf("%s\n%+v", problem, p)
		}
	})
}

func TestRefusedUnsafeCallIsSentAgainOnRedis(t *testing.T) {
	t.Parallel()
	calls := 0
	w := onRedis(t)(&local.Kit{Model: script(calling("pay"), text("paid")), Tools: []local.Tool{tool("pay", agent.Unsafe,
		func(ctx context.Context, call local.Invocation) (local.Answer, error) {
			if calls++; calls == 1 {
				return local.Answer{}, &local.Error{Kind: local.Transient, Code: "unavailable"}
			}
			return says("ok")(ctx, call)
		})}})
	require.Equal(t, execution.Completed, w.drive().State)
	require.Equal(t, 2, calls)
}

// Case D4: the message of a cancel reaches the node through Redis within a second.
func TestCaseD4_CancelOnRedis(t *testing.T) {
	t.Parallel()
	model, asked, cause := hanging()
	w := onRedis(t)(&local.Kit{Model: model})
	ctx, stop := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() { watched <- w.durable.Watch(ctx) }()
	w.to(BeforeModelRequest)
	done := w.start()
	<-asked
	_, err := w.store.Cancel(t.Context(), w.id)
	require.NoError(t, err)
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute): // how soon it ends, TestCaseD4_CancelClosesTheRequestInFlight measures
		require.Fail(t, "the node did not end")
	}
	require.ErrorIs(t, *cause.Load(), ErrUserCancel)
	require.Equal(t, execution.Canceled, w.row().State)
	stop()
	require.ErrorIs(t, <-watched, context.Canceled)
}

func TestEveryTaskOfAStepRunTwiceOnRedisChangesNothing(t *testing.T) {
	t.Parallel()
	w := onRedis(t)(&local.Kit{Model: script(calling("pay"), text("paid")), Tools: []local.Tool{
		tool("pay", agent.Unsafe, says("ok")),
	}})
	for range 50 {
		task, ok := w.queue.pop()
		if !ok {
			break
		}
		require.NoError(t, w.durable.Run(t.Context(), task))
		require.NoError(t, w.durable.Run(t.Context(), task), "delivered twice")
	}
	require.Equal(t, execution.Completed, w.row().State)
	require.Len(t, w.nodes(), int(w.row().Step)+1)
	require.NotContains(t, w.types(), execution.TypeWarning)
}

var _ Store = journal.Store(nil)

// A checkpoint that somebody has damaged in Redis suspends its execution at once, whichever part of it cannot be read.
func TestADamagedCheckpointSuspendsAtOnceOnRedis(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"what is this", "5+x {}", "5 {", "", "99999999999999999999 {}"} {
		rdb := redistest.Shared(t).Client(t)
		store, pass := jumping(t, rdb)
		w := newWorldOn(t, store, pass, &agent.Definition{}, &local.Kit{Model: script(text("end"))}, nil)
		keys, err := rdb.Keys(t.Context(), "*"+string(w.id)+":checkpoints").Result()
		require.NoError(t, err)
		require.Len(t, keys, 1)
		require.NoError(t, rdb.LSet(t.Context(), keys[0], 0, entry).Err())
		require.NoError(t, w.next(), entry)
		require.Equal(t, execution.Suspended, w.row().State, entry)
		require.Contains(t, w.row().Suspension.Detail, "unreadable checkpoint", entry)
	}
}
