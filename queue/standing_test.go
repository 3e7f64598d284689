package queue

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestStandingTellsWhatWillRunSoon(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	c := w.client(t)
	raw := asynq.NewClientFromRedisClient(w.rdb)
	inspector := asynq.NewInspectorFromRedisClient(w.rdb)
	later := func(task execution.Task, in time.Duration) {
		_, err := raw.Enqueue(asynq.NewTask(taskKind, nil), asynq.TaskID(task.ID()), asynq.Queue(w.queue), asynq.ProcessIn(in))
		require.NoError(t, err)
	}
	tasks := w.tasks(9)
	const (
		pending = iota
		absent
		soon
		late
		archived
		ghost
		active
		retrySoon
		retryLate
	)
	later(tasks[soon], 3*time.Second)
	later(tasks[late], time.Minute)
	require.NoError(t, c.Enqueue(ctx, tasks[active]))
	require.NoError(t, w.rdb.LMove(ctx, pendingKey(w.queue), activeKey(w.queue), "RIGHT", "LEFT").Err())
	require.NoError(t, w.rdb.HSet(ctx, taskKey(w.queue, tasks[active].ID()), "state", "active").Err())
	require.NoError(t, c.Enqueue(ctx, tasks[pending], tasks[archived]))
	require.NoError(t, inspector.ArchiveTask(w.queue, tasks[archived].ID()))
	require.NoError(t, w.rdb.HSet(ctx, taskKey(w.queue, tasks[ghost].ID()), "state", "pending").Err())
	for i, in := range map[int]time.Duration{retrySoon: -time.Second, retryLate: time.Minute} {
		id := tasks[i].ID()
		require.NoError(t, w.rdb.HSet(ctx, taskKey(w.queue, id), "state", "retry", "msg", "x").Err())
		require.NoError(t, w.rdb.ZAdd(ctx, retryKey(w.queue), redis.Z{Score: float64(time.Now().Add(in).Unix()), Member: id}).Err())
	}

	got, err := c.Standing(ctx, tasks, 5*time.Second)
	require.NoError(t, err)
	want := make([]bool, len(tasks))
	want[pending], want[soon], want[retrySoon] = true, true, true
	require.Equal(t, want, got)
}

func TestCaseG8_LookingUpTenThousandTasksIsAHundredShortRoundTrips(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	c := w.client(t)
	tasks := w.tasks(10_000)
	require.NoError(t, c.Enqueue(ctx, tasks[:9_000]...))
	<-time.After(2 * longestGap) // the last wake-up is out
	trips := &counting{}
	w.rdb.AddHook(trips)
	begun := time.Now()
	got, err := c.Standing(ctx, tasks, 5*time.Second)
	took := time.Since(begun)
	require.NoError(t, err)
	n, _ := trips.reset()
	require.Equal(t, 100, n)
	for i, standing := range got {
		require.Equal(t, i < 9_000, standing)
	}
	t.Logf("10,000 look-ups in %v", took)
	require.Less(t, took, deadline)

	_, err = c.Depth(ctx)
	require.NoError(t, err)
	n, _ = trips.reset()
	require.Equal(t, 1, n)
}
