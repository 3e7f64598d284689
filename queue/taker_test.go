package queue

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// One execution alone: each step is one look and one enqueue, whatever the number of queues. Its end rides along with a look,
// or goes by itself where none comes soon.
func TestAStepAloneIsTwoRoundTripsOrThree(t *testing.T) { //nolint:paralleltest // it counts
	w := sharedWorld(t)
	trips := &counting{}
	rdb := redis.NewClient(w.rdb.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	alone := &world{rdb: rdb, prefix: w.prefix, queue: w.queue, waker: w.waker}
	chain(t, alone, 5, sixQueues(alone)) // loads the scripts and publishes the names
	rdb.AddHook(trips)
	const steps = 200
	chain(t, alone, steps, sixQueues(alone))
	n := trips.ofScripts()
	t.Logf("%d round trips of scripts in %d steps", n, steps)
	require.GreaterOrEqual(t, n, 2*steps)
	// Asynq's own loops send scripts as well: six queues, forwarded every second and recovered once.
	require.LessOrEqual(t, n, 3*steps+60)
	_, names := trips.reset()
	require.LessOrEqual(t, count(names, "unlink"), 6*5, "nobody listens between the steps")
	require.LessOrEqual(t, count(names, "lpush"), 8, "and nothing is to be heard")
}

func count(names []string, name string) (n int) {
	for _, have := range names {
		if have == name {
			n++
		}
	}
	return n
}

func TestManyTasksComeWithFewLooksAndEachHasASlot(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	require.NoError(t, w.client(t).Enqueue(context.Background(), w.tasks(100)...))
	release := make(chan struct{})
	runner := newSeen(func(context.Context, execution.Task) error { <-release; return nil })
	s := w.start(t, runner, func(cfg *ServerConfig) { cfg.Concurrency = 20 })
	for range 20 {
		runner.next(t)
	}
	require.Eventually(t, func() bool { return s.Stats().Running == 20 }, deadline, time.Millisecond)
	require.Equal(t, Depth{Pending: 80, Active: 20}, w.depth(t), "no task is taken that has no slot")
	close(release)
	for range 80 {
		runner.next(t)
	}
	require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, deadline, time.Millisecond)
}

// fetched returns a server that has not started, and whose taker has taken the tasks of the queue and handed out none.
func fetched(t *testing.T, w *world) *taker {
	t.Helper()
	s, err := NewServer(w.rdb, newSeen(nil), w.config())
	require.NoError(t, err)
	taker := s.lanes[0].taker
	for range 2 { // a survey, a look
		_, err := taker.fetch(context.Background())
		require.NoError(t, err)
	}
	return taker
}

func TestWhatIsKeptAtStopGoesBackInItsOrderAtOnce(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	tasks := w.tasks(10)
	require.NoError(t, w.client(t).Enqueue(context.Background(), tasks...))
	taker := fetched(t, w)
	require.Len(t, taker.kept, 8, "one for each slot")
	require.Equal(t, Depth{Pending: 2, Active: 8}, w.depth(t))

	taker.giveBack(context.Background())
	require.Equal(t, Depth{Pending: 10}, w.depth(t))
	require.Zero(t, w.rdb.ZCard(context.Background(), leaseKey(w.queue)).Val())
	runner := newSeen(nil)
	w.start(t, runner, func(cfg *ServerConfig) { cfg.Concurrency = 1 })
	for _, task := range tasks {
		require.Equal(t, task, runner.next(t), "the oldest first")
	}
}

func TestWhatIsKeptTooLongGoesBack(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	require.NoError(t, w.client(t).Enqueue(context.Background(), w.tasks(3)...))
	taker := fetched(t, w)
	taker.keptAt = time.Now().Add(-freshFor - time.Second) // the process stood still
	require.Nil(t, taker.handOut(context.Background()))
	require.Equal(t, Depth{Pending: 3}, w.depth(t))
}

// A worker that dies with tasks it has not begun leaves them as one that dies at work does: active, so that the reaper
// sees them not standing, and with a lease, so that Asynq recovers them.
func TestCaseA1_TasksKeptByADeadWorkerAreNotStandingAndHaveALease(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	c := w.client(t)
	tasks := w.tasks(4)
	require.NoError(t, c.Enqueue(ctx, tasks...))
	require.Len(t, fetched(t, w).kept, 4) // and nobody goes on with them

	standing, err := c.Standing(ctx, tasks, time.Second)
	require.NoError(t, err)
	require.Equal(t, make([]bool, 4), standing, "the reaper enqueues their steps anew")
	for _, task := range tasks {
		require.NoError(t, w.rdb.ZAddXX(ctx, leaseKey(w.queue), redis.Z{Score: 1, Member: task.ID()}).Err())
	}
	runner := newSeen(nil)
	w.start(t, runner)
	ran := map[string]bool{}
	for range tasks { // Asynq's recoverer looks at its start, then tries again after a delay
		ran[runner.next(t).ID()] = true
	}
	require.Len(t, ran, 4)
}

func TestHundredsOfIdsWithoutATaskAreSteppedOver(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	for i := range 350 {
		require.NoError(t, w.rdb.LPush(ctx, pendingKey(w.queue), fmt.Sprint("ghost", i)).Err())
	}
	task := w.task(1)
	require.NoError(t, w.client(t).Enqueue(ctx, task))
	runner := newSeen(nil)
	w.start(t, runner)
	require.Equal(t, task, runner.next(t))
	require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, deadline, time.Millisecond)
}

func TestAPausedQueueWaitsAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	other := w.queue + "-other"
	inspector := asynq.NewInspectorFromRedisClient(w.rdb)
	c := w.client(t)
	require.NoError(t, c.Enqueue(ctx, w.task(0))) // a queue must be known to be paused
	require.NoError(t, inspector.PauseQueue(w.queue))
	runner := newSeen(nil)
	w.start(t, runner, func(cfg *ServerConfig) { cfg.Queues = map[string]int{w.queue: 90, other: 1} })
	for i := range 20 {
		task := w.task(i + 1)
		task.Queue = other
		require.NoError(t, c.Enqueue(ctx, w.task(i+100), task))
		require.Equal(t, task, runner.next(t))
	}
	require.Equal(t, Depth{Pending: 21}, w.depth(t))
	require.NoError(t, inspector.UnpauseQueue(w.queue))
	for range 21 {
		require.Equal(t, w.queue, runner.next(t).Queue)
	}
}

// A backlog of new executions starts as many as there are slots, and those that started come first until they end.
func TestABacklogOfNewExecutionsDoesNotSlowThoseThatHaveStarted(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	c := w.client(t)
	fresh := w.queue + execution.NewSuffix
	const steps, slots, queued = 20, 10, 500
	tasks := w.tasks(queued)
	for i := range tasks {
		tasks[i].Step, tasks[i].Queue = 0, fresh
	}
	require.NoError(t, c.Enqueue(ctx, tasks...))
	var started, most, ended atomic.Int64
	done := make(chan struct{})
	runner := newSeen(func(_ context.Context, task execution.Task) error {
		if task.Step == 0 {
			now := started.Add(1)
			most.Store(max(most.Load(), now-ended.Load()))
		}
		<-time.After(time.Millisecond) // work
		if task.Step+1 < steps {
			return c.Enqueue(ctx, execution.Task{Execution: task.Execution, Step: task.Step + 1, Wake: 1, Queue: w.queue})
		}
		if ended.Add(1) == 100 {
			close(done)
		}
		return nil
	})
	w.start(t, runner, func(cfg *ServerConfig) {
		cfg.Queues, cfg.Concurrency = map[string]int{w.queue: 12, fresh: 3}, slots
	})
	receive(t, done)
	t.Logf("at most %d executions of %d under way in %d slots", most.Load(), queued, slots)
	require.LessOrEqual(t, most.Load(), int64(3*slots), "those that have started end before others start")
}

func TestOrder(t *testing.T) {
	t.Parallel()
	o := newOrder(DefaultQueues())
	index := func(name string) int {
		return slices.IndexFunc(o.queues, func(q ranked) bool { return q.name == name })
	}
	holds := func(names ...string) []bool {
		holding := make([]bool, len(o.queues))
		for _, name := range names {
			holding[index(name)] = true
		}
		return holding
	}
	_, _, ok := o.choose(holds(), 8)
	require.False(t, ok)
	queue, most, ok := o.choose(holds("low-new"), 8)
	require.True(t, ok)
	require.Equal(t, index("low-new"), queue)
	require.Equal(t, freshBatch, most, "new ones are taken at once when none has started, and few at a time")

	tally := func(names ...string) map[string]int {
		counts := map[string]int{}
		for range 2000 {
			queue, most, ok := o.choose(holds(names...), 1)
			require.True(t, ok)
			require.Equal(t, 1, most)
			o.took(queue, 1)
			counts[o.queues[queue].name]++
		}
		return counts
	}
	require.InDelta(t, 40, tally("default", "default-new")["default-new"], 1, "one in fifty")
	require.InDelta(t, 40, tally("high", "default-new")["default-new"], 1)
	require.Greater(t, tally("low", "high-new")["high-new"], 800, "a higher priority does not wait for a lower one")
	counts := tally("high", "default", "low")
	require.Greater(t, counts["high"], counts["default"])
	require.Greater(t, counts["default"], counts["low"])
	require.Positive(t, counts["low"], "none starves")
}

func TestTheShareOfNewExecutionsIsNotLostInBatches(t *testing.T) {
	t.Parallel()
	o := newOrder(map[string]int{"a": 1, "a" + execution.NewSuffix: 1})
	fresh, all := 0, 0
	for all < 1000 {
		queue, most, ok := o.choose([]bool{true, true}, 8)
		require.True(t, ok)
		o.took(queue, most)
		all += most
		if o.queues[queue].fresh {
			fresh += most
		}
	}
	require.InDelta(t, all/freshShare, fresh, 1)
}
