package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

// Standing says of each task, in order, whether it stands: it is pending, or it waits for its time, which comes within
// grace. A task that is active, dead or absent does not stand: nothing will run it soon. One round trip for 100 tasks.
// An error means that nothing is known.
func (c *Client) Standing(ctx context.Context, tasks []execution.Task, grace time.Duration) ([]bool, error) {
	standing := make([]bool, 0, len(tasks))
	for some := range slices.Chunk(tasks, batchSize) {
		found, err := c.standing(ctx, some, grace)
		if err != nil {
			return nil, fmt.Errorf("look up %d standing tasks: %w", len(some), err)
		}
		standing = append(standing, found...)
	}
	return standing, nil
}

// lookup is what Redis says of one task.
type lookup struct {
	state            *redis.StringCmd
	size             *redis.IntCmd // of the task itself: 0 for an id without a task
	scheduled, retry *redis.FloatCmd
}

func (c *Client) standing(ctx context.Context, tasks []execution.Task, grace time.Duration) ([]bool, error) {
	pipe := c.rdb.Pipeline()
	lookups := make([]lookup, len(tasks))
	for i, task := range tasks {
		key := taskKey(task.Queue, task.ID())
		lookups[i] = lookup{
			state:     pipe.HGet(ctx, key, "state"),
			size:      pipe.HStrLen(ctx, key, "msg"),
			scheduled: pipe.ZScore(ctx, scheduledKey(task.Queue), task.ID()),
			retry:     pipe.ZScore(ctx, retryKey(task.Queue), task.ID()),
		}
	}
	if err := each(ctx, pipe); err != nil {
		return nil, err
	}
	standing := make([]bool, len(tasks))
	latest := float64(time.Now().Add(grace).UnixMilli()) / 1000
	for i, l := range lookups {
		if l.size.Val() == 0 {
			continue
		}
		switch l.state.Val() {
		case "pending":
			standing[i] = true
		case "scheduled":
			standing[i] = l.scheduled.Err() == nil && l.scheduled.Val() <= latest
		case "retry":
			standing[i] = l.retry.Err() == nil && l.retry.Val() <= latest
		}
	}
	return standing, nil
}
