package queue

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

// maxPosition is how many tasks are looked through for one: a longer queue takes no longer.
const maxPosition = 10_000

// Place says where a task stands, and who serves its queue. Two round trips; the cost grows with the number of workers and
// not with the queue.
func (c *Client) Place(ctx context.Context, task execution.Task) (execution.Place, error) {
	place := execution.Place{Position: -1}
	if err := checkName(task.Queue); err != nil {
		return place, fmt.Errorf("place of task %s: %w", task.ID(), err)
	}
	pipe := c.rdb.Pipeline()
	state := pipe.HGet(ctx, taskKey(task.Queue, task.ID()), "state")
	at := pipe.LPos(ctx, pendingKey(task.Queue), task.ID(), redis.LPosArgs{Rank: -1, MaxLen: maxPosition})
	length := pipe.LLen(ctx, pendingKey(task.Queue))
	paused := pipe.Exists(ctx, pausedKey(task.Queue))
	ids := pipe.ZRange(ctx, workersKey(c.cfg.Prefix), 0, -1)
	if err := each(ctx, pipe); err != nil {
		return place, fmt.Errorf("place of task %s: %w", task.ID(), err)
	}
	place.State, place.Paused = execution.TaskState(state.Val()), paused.Val() == 1
	if at.Err() == nil {
		place.Position = max(0, length.Val()-1-at.Val()) // workers take from the end
	}
	workers, err := c.workers(ctx, ids.Val(), false)
	if err != nil {
		return place, fmt.Errorf("place of task %s: %w", task.ID(), err)
	}
	for i := range workers {
		if workers[i].Serves(task.Queue) {
			place.Workers++
		}
	}
	return place, nil
}
