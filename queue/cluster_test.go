package queue

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

func TestCaseH3_EverythingWorksOnACluster(t *testing.T) {
	t.Parallel()
	everythingWorks(t, redistest.StartCluster(t).Client(t))
}

// What `pawl dev` falls back on. It proves nothing about Redis.
func TestTheEmbeddedRedisIsEnoughForDevelopment(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = client.Close() })
	everythingWorks(t, client)
}

// everythingWorks uses every operation of the package with the default queues.
func everythingWorks(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	c, err := NewClient(rdb, ClientConfig{Logger: quiet()})
	require.NoError(t, err)
	var tasks []execution.Task
	for i, queue := range c.queues() {
		for step := range 20 {
			tasks = append(tasks, execution.Task{Execution: execution.NewID(execution.Partition(i)), Step: execution.Step(step), Queue: queue})
		}
	}
	require.NoError(t, c.Enqueue(ctx, tasks...))
	standing, err := c.Standing(ctx, tasks, time.Second)
	require.NoError(t, err)
	require.NotContains(t, standing, false)
	_, leave := present(t, rdb, PresenceConfig{ID: "one", Queues: []string{"low"}})
	workersAre(t, c, func(live []Worker) bool { return len(live) == 1 && live[0].Serves("low") })
	for i, queue := range c.queues() {
		place, err := c.Place(ctx, tasks[20*i+7])
		require.NoError(t, err)
		want := execution.Place{State: execution.TaskPending, Position: 7}
		if queue == "low" {
			want.Workers = 1
		}
		require.Equal(t, want, place, queue)
	}
	leave()

	var putBacks atomic.Int64
	runner := newSeen(func(context.Context, execution.Task) error {
		if putBacks.Add(1) <= 10 {
			return &execution.PutBack{Err: errors.New("not now")}
		}
		return nil
	})
	s := startServer(t, rdb, runner, ServerConfig{Logger: quiet(), DrainTimeout: 2 * time.Second})
	for range len(tasks) + 10 {
		runner.next(t)
	}
	require.Eventually(t, func() bool { return s.Stats().Done == int64(len(tasks)) }, deadline, time.Millisecond)
	waitIdle(t, s)
	var took []time.Duration
	for i := range 20 {
		task := execution.Task{Execution: execution.NewID(1), Step: execution.Step(i), Queue: "low-new"}
		sent := time.Now()
		require.NoError(t, c.Enqueue(ctx, task))
		require.Equal(t, task, runner.next(t))
		took = append(took, time.Since(sent))
	}
	require.Less(t, median(took), pollHalf, "woken by a token")
	_, err = c.Repair(ctx)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		depths, err := c.Depth(ctx)
		return err == nil && depths["low-new"] == Depth{} && len(depths) == 7
	}, deadline, time.Millisecond)
}
