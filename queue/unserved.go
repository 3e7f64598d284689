package queue

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Unserved is a queue that holds tasks and that no live worker serves.
type Unserved struct {
	Queue   string
	Pending int64
}

// Unserved lists, by name, the queues whose tasks nobody will take, of all that were ever used. Four round trips, whose size
// grows with the number of queues and workers.
func (c *Client) Unserved(ctx context.Context) ([]Unserved, error) {
	queues, err := c.Used(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	queues = slices.DeleteFunc(queues, func(queue string) bool {
		return slices.ContainsFunc(workers, func(w Worker) bool { return w.Serves(queue) })
	})
	pipe := c.rdb.Pipeline()
	pending := make([]*redis.IntCmd, len(queues))
	for i, queue := range queues {
		pending[i] = pipe.LLen(ctx, pendingKey(queue))
	}
	if err := each(ctx, pipe); err != nil {
		return nil, fmt.Errorf("count the tasks of %d queues: %w", len(queues), err)
	}
	var unserved []Unserved
	for i, queue := range queues {
		if n := pending[i].Val(); n > 0 {
			unserved = append(unserved, Unserved{Queue: queue, Pending: n})
		}
	}
	return unserved, nil
}
