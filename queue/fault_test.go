package queue

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

// faulty fails scripts of one kind, as a Redis would that is away for a moment.
type faulty struct {
	redis.UniversalClient
	kind  script
	fails atomic.Int64 // scripts still to fail
	asked atomic.Int64 // scripts of the kind
}

var errAway = errors.New("redis is away")

func (f *faulty) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if scriptOf(keys) == f.kind {
		f.asked.Add(1)
		if f.fails.Add(-1) >= 0 {
			cmd := redis.NewCmd(ctx)
			cmd.SetErr(errAway)
			return cmd
		}
	}
	return f.UniversalClient.EvalSha(ctx, sha, keys, args...)
}

// Asynq's own server leaves the task active: it repeats the end with a context that it has canceled.
func TestAsynqNeverRepeatsAFailedEndAndTheServerDoes(t *testing.T) {
	t.Parallel()
	t.Run("asynq alone leaves the task active", func(t *testing.T) {
		t.Parallel()
		w := sharedWorld(t)
		f := &faulty{UniversalClient: w.rdb, kind: endScript}
		f.fails.Store(1)
		ran := make(chan struct{}, 1)
		raw := asynq.NewServerFromRedisClient(f, asynq.Config{
			Queues: map[string]int{w.queue: 1}, TaskCheckInterval: time.Millisecond, Logger: asynqLog{quiet()},
		})
		require.NoError(t, raw.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
			ran <- struct{}{}
			return nil
		})))
		t.Cleanup(raw.Shutdown)
		require.NoError(t, w.client(t).Enqueue(context.Background(), w.task(0)))
		receive(t, ran)
		require.Eventually(t, func() bool { return f.asked.Load() >= 2 }, 2*deadline, 10*time.Millisecond, "it tried again")
		require.Equal(t, Depth{Active: 1}, w.depth(t), "in vain; a change here means that Asynq is repaired")
	})
	t.Run("the server ends it", func(t *testing.T) {
		t.Parallel()
		w := sharedWorld(t)
		f := &faulty{UniversalClient: w.rdb, kind: endScript}
		f.fails.Store(1)
		runner := newSeen(nil)
		startServer(t, f, runner, w.config())
		require.NoError(t, w.client(t).Enqueue(context.Background(), w.task(0)))
		runner.next(t)
		require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, 2*deadline, 10*time.Millisecond)
	})
}

func TestFailingLooksPauseAndAreLoggedOncePerStreak(t *testing.T) {
	t.Parallel()
	const window = time.Second
	t.Run("asynq alone asks without a pause", func(t *testing.T) {
		t.Parallel()
		w := sharedWorld(t)
		f := &faulty{UniversalClient: w.rdb, kind: lookScript}
		f.fails.Store(1 << 40)
		raw := asynq.NewServerFromRedisClient(f, asynq.Config{Queues: map[string]int{w.queue: 1}, Logger: asynqLog{quiet()}})
		require.NoError(t, raw.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil })))
		t.Cleanup(raw.Shutdown)
		require.Eventually(t, func() bool { return f.asked.Load() > 1000 }, window, time.Millisecond,
			"a change here means that Asynq is repaired")
	})
	t.Run("the server pauses", func(t *testing.T) {
		t.Parallel()
		w := sharedWorld(t)
		f := &faulty{UniversalClient: w.rdb, kind: lookScript}
		f.fails.Store(8)
		var lines logged
		cfg := w.config()
		cfg.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		runner := newSeen(nil)
		require.NoError(t, w.client(t).Enqueue(context.Background(), w.task(0)))
		begun := time.Now()
		startServer(t, f, runner, cfg)
		runner.next(t)
		require.Greater(t, time.Since(begun), 8*50*time.Millisecond)
		require.Less(t, f.asked.Load(), int64(20))
		require.Equal(t, 1, strings.Count(lines.String(), "cannot take tasks"))
		require.Equal(t, 1, strings.Count(lines.String(), "taking tasks from Redis again"))
	})
}

// logged is a log that may be read while it is written.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestCaseH4_ServingGoesOnAfterRedisWasKilledAndStartedAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	w := newWorld(t, server.Client(t))
	c := w.client(t)
	release := make(chan struct{})
	runner := newSeen(func(_ context.Context, task execution.Task) error {
		if task.Step == 0 {
			<-release
		}
		return nil
	})
	s := w.start(t, runner)
	require.NoError(t, c.Enqueue(context.Background(), w.task(0)))
	runner.next(t)
	waitIdle(t, s)

	server.Kill()
	require.Eventually(t, func() bool { return s.Stats().LookErrors > 0 }, deadline, time.Millisecond)
	server.Restart(t)
	close(release)

	require.Eventually(t, func() bool { return c.Enqueue(context.Background(), w.task(1)) == nil }, deadline, 10*time.Millisecond)
	require.Equal(t, execution.Step(1), runner.next(t).Step)
	require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, 2*deadline, 10*time.Millisecond, "the task in flight ended too")
	var took []time.Duration
	for i := range 9 {
		waitIdle(t, s)
		sent := time.Now()
		require.NoError(t, c.Enqueue(context.Background(), w.task(2+i)))
		runner.next(t)
		took = append(took, time.Since(sent))
	}
	require.Less(t, median(took), pollHalf, "wake-ups work again")
}

func TestScriptsSurviveAFlushWhileAServerWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Start(t).Client(t))
	runner := newSeen(nil)
	s := w.start(t, runner)
	for i := range 5 {
		waitIdle(t, s)
		require.NoError(t, w.rdb.ScriptFlush(context.Background()).Err())
		require.NoError(t, w.client(t).Enqueue(context.Background(), w.task(i)))
		runner.next(t)
	}
	require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, deadline, time.Millisecond)
}

func TestIdsWithoutATaskDoNotHoldUpAQueue(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	c := w.client(t)
	ghosts := w.tasks(50)
	require.NoError(t, c.Enqueue(ctx, ghosts...))
	for _, task := range ghosts {
		require.NoError(t, w.rdb.Del(ctx, taskKey(w.queue, task.ID())).Err())
	}
	task := w.task(1)
	require.NoError(t, c.Enqueue(ctx, task))
	runner := newSeen(nil)
	begun := time.Now()
	w.start(t, runner)
	require.Equal(t, task, runner.next(t))
	require.Less(t, time.Since(begun), time.Duration(len(ghosts)/2)*time.Second, "a ghost does not cost a look of once a second")
	require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, deadline, time.Millisecond, "nothing is left of them")
	n, err := c.Repair(ctx)
	require.NoError(t, err)
	require.Zero(t, n)
}
