package queue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// take makes the task active as a worker would that then dies.
func take(tb testing.TB, w *world, task execution.Task) string {
	tb.Helper()
	ctx := context.Background()
	require.NoError(tb, w.client(tb).Enqueue(ctx, task))
	pipe := w.rdb.TxPipeline()
	pipe.LRem(ctx, pendingKey(w.queue), 0, task.ID())
	pipe.LPush(ctx, activeKey(w.queue), task.ID())
	pipe.HSet(ctx, taskKey(w.queue, task.ID()), "state", "active")
	pipe.ZAdd(ctx, leaseKey(w.queue), redis.Z{Score: float64(time.Now().Add(leaseTTL).Unix()), Member: task.ID()})
	_, err := pipe.Exec(ctx)
	require.NoError(tb, err)
	return task.ID()
}

func TestCaseA6_RepairEndsWhatAsynqCannot(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	c := w.client(t)
	healthy := take(t, w, w.task(0))
	bare := take(t, w, w.task(1))
	require.NoError(t, w.rdb.ZRem(ctx, leaseKey(w.queue), bare).Err())
	ghost := take(t, w, w.task(2))
	require.NoError(t, w.rdb.HDel(ctx, taskKey(w.queue, ghost), "msg").Err())
	orphan := take(t, w, w.task(3)) // only its lease remembers it
	require.NoError(t, w.rdb.LRem(ctx, activeKey(w.queue), 0, orphan).Err())
	old := float64(time.Now().Add(-time.Hour).Unix())
	require.NoError(t, w.rdb.ZAdd(ctx, leaseKey(w.queue), redis.Z{Score: old, Member: orphan}, redis.Z{Score: old, Member: "nothing"}).Err())
	for _, set := range []string{archivedKey(w.queue), completedKey(w.queue)} {
		require.NoError(t, w.rdb.ZAdd(ctx, set, redis.Z{Score: old, Member: "ghost"}).Err())
	}
	_, err := asynq.NewInspectorFromRedisClient(w.rdb).GetQueueInfo(w.queue)
	require.Error(t, err, "Asynq stumbles; a change here means that it is repaired")

	n, err := c.Repair(ctx)
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.ElementsMatch(t, []string{healthy, bare}, w.rdb.LRange(ctx, activeKey(w.queue), 0, -1).Val())
	require.ElementsMatch(t, []string{healthy, bare}, w.rdb.ZRange(ctx, leaseKey(w.queue), 0, -1).Val())
	require.Greater(t, w.rdb.ZScore(ctx, leaseKey(w.queue), bare).Val(), float64(time.Now().Unix()), "a whole lease")
	require.Zero(t, w.rdb.Exists(ctx, taskKey(w.queue, ghost), taskKey(w.queue, orphan)).Val())
	_, err = asynq.NewInspectorFromRedisClient(w.rdb).GetQueueInfo(w.queue)
	require.NoError(t, err)

	n, err = c.Repair(ctx)
	require.NoError(t, err)
	require.Zero(t, n, "once is enough")
	require.NoError(t, c.Enqueue(ctx, w.task(2)))
}

func TestRepairGoesThroughLongListsInPages(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	c := w.client(t)
	const ids = 3*repairPage + 50
	for i := range ids {
		require.NoError(t, w.rdb.LPush(ctx, activeKey(w.queue), fmt.Sprint("ghost", i)).Err())
		require.NoError(t, w.rdb.ZAdd(ctx, archivedKey(w.queue), redis.Z{Member: fmt.Sprint("ghost", i)}).Err())
	}
	for range 4 {
		_, err := c.Repair(ctx)
		require.NoError(t, err)
	}
	require.Equal(t, Depth{}, w.depth(t))
}

func TestRepairOfOneQueueDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	other := w.queue + "-z"
	require.NoError(t, w.rdb.Set(ctx, activeKey(w.queue), "not a list", time.Minute).Err())
	require.NoError(t, w.rdb.LPush(ctx, activeKey(other), "ghost").Err())
	c, err := NewClient(w.rdb, ClientConfig{Queues: []string{w.queue, other}, Prefix: w.prefix, Logger: quiet()})
	require.NoError(t, err)
	_, err = c.Repair(ctx)
	require.ErrorContains(t, err, w.queue)
	require.Zero(t, w.rdb.LLen(ctx, activeKey(other)).Val())
}
