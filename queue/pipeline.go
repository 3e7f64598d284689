package queue

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

// EnqueueIn appends the enqueueing of a task, with its wake-up, to a pipeline that its caller sends, so that it travels
// behind the caller's own commands. The pipeline must go to the one node that the queues are on. What it returns is to be
// called once after the pipeline was sent, and says whether the task stands; if not, Enqueue will place it.
func (c *Client) EnqueueIn(ctx context.Context, pipe redis.Pipeliner, task execution.Task) (placed func() error, err error) {
	b := &batch{pipe: pipe}
	if err := c.write(ctx, b, task); err != nil {
		return nil, err
	}
	sent := c.addWakeUps(ctx, pipe, []execution.Task{task})
	return func() error {
		sent()
		c.cfg.Waker.wake(task.Queue)
		if err := b.cmds[0].Err(); err != nil {
			return fmt.Errorf("enqueue task %s: %w", task.ID(), err)
		}
		return nil
	}, nil
}
