package queue

import (
	"context"
	"fmt"
)

// Depth counts the tasks of a queue by state.
type Depth struct {
	Pending   int64 // may run now
	Active    int64 // a worker has them, or died with them
	Scheduled int64 // not before their time
	Retry     int64 // handed back with a delay
	Archived  int64 // given up by Asynq, or by an operator
}

// Depth counts the tasks of every queue this client knows, in one round trip and constant time per queue.
func (c *Client) Depth(ctx context.Context) (map[string]Depth, error) {
	return c.DepthOf(ctx, c.queues())
}

// DepthOf counts the tasks of the queues, as Depth does.
func (c *Client) DepthOf(ctx context.Context, queues []string) (map[string]Depth, error) {
	pipe := c.rdb.Pipeline()
	counts := make([][5]interface{ Val() int64 }, len(queues))
	for i, queue := range queues {
		counts[i] = [5]interface{ Val() int64 }{
			pipe.LLen(ctx, pendingKey(queue)),
			pipe.LLen(ctx, activeKey(queue)),
			pipe.ZCard(ctx, scheduledKey(queue)),
			pipe.ZCard(ctx, retryKey(queue)),
			pipe.ZCard(ctx, archivedKey(queue)),
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("count tasks of %d queues: %w", len(queues), err)
	}
	depths := make(map[string]Depth, len(queues))
	for i, queue := range queues {
		n := counts[i]
		depths[queue] = Depth{
			Pending: n[0].Val(), Active: n[1].Val(), Scheduled: n[2].Val(), Retry: n[3].Val(), Archived: n[4].Val(),
		}
	}
	return depths, nil
}
