package queue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

func (w *world) present(t *testing.T, cfg PresenceConfig) (p *Presence, leave func()) {
	t.Helper()
	cfg.Prefix = w.prefix
	return present(t, w.rdb, cfg)
}

// present runs a presence until leave is called.
func present(t *testing.T, rdb redis.UniversalClient, cfg PresenceConfig) (p *Presence, leave func()) {
	t.Helper()
	cfg.Logger = quiet()
	p, err := NewPresence(rdb, cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	leave = func() { cancel(); <-done }
	t.Cleanup(leave)
	return p, leave
}

// steps are tasks of one execution.
func (w *world) steps() func(step int) execution.Task {
	id := execution.NewID(7)
	return func(step int) execution.Task {
		return execution.Task{Execution: id, Step: execution.Step(step), Wake: 1, Queue: w.queue}
	}
}

// workersAre waits until the live workers are as wanted.
func workersAre(t *testing.T, c *Client, wanted func([]Worker) bool) []Worker {
	t.Helper()
	var workers []Worker
	require.Eventually(t, func() bool {
		var err error
		workers, err = c.Workers(context.Background())
		require.NoError(t, err)
		return wanted(workers)
	}, deadline, 5*time.Millisecond)
	return workers
}

func TestWorkersAreThereWhileTheySaySo(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	c := w.client(t)
	workersAre(t, c, func(live []Worker) bool { return len(live) == 0 })
	held := execution.NewID(7)
	p, leave := w.present(t, PresenceConfig{
		ID: "one", Queues: []string{w.queue, "suspect"}, Concurrency: 50, Interval: 20 * time.Millisecond, Host: "machine", PID: 42,
		Holding: func() []execution.ID { return []execution.ID{held} },
	})
	_, leaveOther := w.present(t, PresenceConfig{ID: "two", Queues: []string{"other"}, Concurrency: 1})
	live := workersAre(t, c, func(live []Worker) bool { return len(live) == 2 })
	at := 0
	if live[0].ID != "one" {
		at = 1
	}
	one := live[at]
	require.InDelta(t, time.Now().UnixMilli(), one.StartedAtMs, 60_000)
	one.StartedAtMs = 0
	require.Equal(t, Worker{
		ID: "one", Queues: []string{w.queue, "suspect"}, Concurrency: 50, Held: 1, Holding: []execution.ID{held},
		Host: "machine", PID: 42,
	}, one)
	require.Empty(t, live[1-at].Holding)

	p.Drain()
	p.Drain()
	live = workersAre(t, c, func(live []Worker) bool { return live[0].Draining || live[1].Draining })
	require.False(t, live[0].Serves(w.queue) || live[1].Serves(w.queue), "one that drains serves no queue")
	leave()
	leaveOther()
	workersAre(t, c, func(live []Worker) bool { return len(live) == 0 })
}

func TestAWorkerThatDiedIsGoneSoon(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	p, err := NewPresence(w.rdb, PresenceConfig{ID: "one", Prefix: w.prefix, Interval: 30 * time.Millisecond, Logger: quiet()})
	require.NoError(t, err)
	p.tell(context.Background()) // and nothing more: it was killed
	workersAre(t, w.client(t), func(live []Worker) bool { return len(live) == 0 })
	named, err := w.rdb.ZCard(context.Background(), workersKey(w.prefix)).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, named, "its key decides, and not the list")
	ttl, err := w.rdb.PTTL(context.Background(), workersKey(w.prefix)).Result()
	require.NoError(t, err)
	require.Equal(t, time.Duration(-1), ttl)
}

func TestPresenceCostsOneRoundTripEachInterval(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	count := &counting{}
	w.rdb.AddHook(count)
	p, err := NewPresence(w.rdb, PresenceConfig{
		ID: "one", Prefix: w.prefix, Logger: quiet(),
		Holding: func() []execution.ID { return make([]execution.ID, 10*maxHolding) },
	})
	require.NoError(t, err)
	p.tell(context.Background()) // the connection is there
	count.reset()
	p.tell(context.Background())
	trips, names := count.reset()
	require.Equal(t, 1, trips)
	require.Equal(t, []string{"set", "set", "eval"}, names)
}

func TestPresenceRefusesWhatCannotBeAKey(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	for _, id := range []string{"", "a b", "a{b}", "a:b"} {
		_, err := NewPresence(w.rdb, PresenceConfig{ID: id})
		require.ErrorIs(t, err, ErrQueueName, id)
	}
	_, err := NewPresence(nil, PresenceConfig{ID: "one"})
	require.Error(t, err)
	_, err = NewPresence(w.rdb, PresenceConfig{ID: "one", Interval: -1})
	require.ErrorContains(t, err, "Interval")
}

func TestPlaceSaysWhereATaskStands(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	c, ctx, task := w.client(t), context.Background(), w.steps()
	place := func(step int) execution.Place {
		found, err := c.Place(ctx, task(step))
		require.NoError(t, err)
		return found
	}
	require.Equal(t, execution.Place{Position: -1}, place(0))
	require.NoError(t, c.Enqueue(ctx, task(0), task(1), task(2)))
	for step := range 3 {
		require.Equal(t, execution.Place{State: execution.TaskPending, Position: int64(step)}, place(step))
	}
	_, leave := w.present(t, PresenceConfig{ID: "one", Queues: []string{w.queue}})
	w.present(t, PresenceConfig{ID: "two", Queues: []string{"other"}})
	workersAre(t, c, func(live []Worker) bool { return len(live) == 2 })
	require.Equal(t, 1, place(2).Workers)
	require.NoError(t, w.rdb.Set(ctx, pausedKey(w.queue), 1, 0).Err())
	require.True(t, place(2).Paused)
	require.NoError(t, w.rdb.Del(ctx, pausedKey(w.queue)).Err())
	leave()
	require.Zero(t, place(2).Workers)
	taken := newSeen(func(ctx context.Context, _ execution.Task) error { <-ctx.Done(); return ctx.Err() })
	w.start(t, taken, func(cfg *ServerConfig) { cfg.Concurrency, cfg.DrainTimeout = 1, time.Millisecond })
	taken.next(t)
	require.Equal(t, execution.TaskActive, place(0).State)
	require.EqualValues(t, -1, place(0).Position)
	_, err := c.Place(ctx, execution.Task{Execution: "exec", Queue: "a:b"})
	require.ErrorIs(t, err, ErrQueueName)
}

func TestPlaceLooksThroughABoundedPartOfALongQueue(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	c, ctx, task := w.client(t), context.Background(), w.steps()
	pipe := w.rdb.Pipeline()
	for i := range maxPosition {
		pipe.LPush(ctx, pendingKey(w.queue), fmt.Sprint(i))
	}
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	require.NoError(t, c.Enqueue(ctx, task(0)))
	found, err := c.Place(ctx, task(0))
	require.NoError(t, err)
	require.Equal(t, execution.Place{State: execution.TaskPending, Position: -1}, found)
	require.NoError(t, w.rdb.RPop(ctx, pendingKey(w.queue)).Err())
	found, err = c.Place(ctx, task(0))
	require.NoError(t, err)
	require.EqualValues(t, maxPosition-1, found.Position)
}

func TestUnservedQueuesAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Start(t).Client(t)) // the names of queues are everybody's
	c, ctx := w.client(t), context.Background()
	require.NoError(t, c.Enqueue(ctx, w.tasks(3)...))
	other, err := NewClient(w.rdb, ClientConfig{Prefix: w.prefix, Logger: quiet()}) // it does not know the queue by itself
	require.NoError(t, err)
	found, err := other.Unserved(ctx)
	require.NoError(t, err)
	require.Equal(t, []Unserved{{Queue: w.queue, Pending: 3}}, found)
	used, err := other.Used(ctx)
	require.NoError(t, err)
	require.Contains(t, used, w.queue)
	depths, err := other.DepthOf(ctx, used)
	require.NoError(t, err)
	require.EqualValues(t, 3, depths[w.queue].Pending)
	latencies, err := other.LatencyOf(ctx, used)
	require.NoError(t, err)
	require.Contains(t, latencies, w.queue)
	w.present(t, PresenceConfig{ID: "one", Queues: []string{w.queue}})
	workersAre(t, c, func(live []Worker) bool { return len(live) == 1 })
	found, err = other.Unserved(ctx)
	require.NoError(t, err)
	require.Empty(t, found)
}

// What one worker says, of another release or damaged, hides no other one from those who look for them.
func TestAWorkerThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Shared(t).Client(t))
	client := w.client(t)
	w.present(t, PresenceConfig{ID: "sound", Queues: []string{w.queue}, Concurrency: 3})
	workersAre(t, client, func(workers []Worker) bool { return len(workers) == 1 })
	require.NoError(t, w.rdb.ZAdd(t.Context(), workersKey(w.prefix), redis.Z{Score: 1, Member: "odd"}, redis.Z{Score: 1, Member: "torn"}).Err())
	require.NoError(t, w.rdb.Set(t.Context(), workerKey(w.prefix, "odd"), `{"v":2,"queues":"all"}`, time.Minute).Err())
	require.NoError(t, w.rdb.Set(t.Context(), workerKey(w.prefix, "torn"), `{"v":`, time.Minute).Err())
	workers, err := client.Workers(t.Context())
	require.NoError(t, err)
	require.Len(t, workers, 1)
	require.Equal(t, "sound", workers[0].ID)
}
