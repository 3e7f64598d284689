package queue

import (
	"context"
	"fmt"
	"slices"
)

// Unserved is a queue that holds tasks and that no live worker serves.
type Unserved struct {
	Queue   string
	Pending int64
}

// Unserved lists, by name, the queues whose tasks nobody will take, of all that were ever used. Its cost grows with the number
// of queues and workers.
func (c *Client) Unserved(ctx context.Context) ([]Unserved, error) {
	named, err := c.rdb.SMembers(ctx, allQueuesKey).Result()
	if err != nil {
		return nil, fmt.Errorf("list the queues: %w", err)
	}
	queues := slices.Compact(slices.Sorted(slices.Values(append(named, c.queues()...))))
	workers, err := c.Workers(ctx)
	if err != nil {
		return nil, err
	}
	var unserved []Unserved
	for _, queue := range queues {
		if slices.ContainsFunc(workers, func(w Worker) bool { return w.Serves(queue) }) {
			continue
		}
		pending, err := c.rdb.LLen(ctx, pendingKey(queue)).Result()
		if err != nil {
			return nil, fmt.Errorf("count the tasks of queue %s: %w", queue, err)
		}
		if pending > 0 {
			unserved = append(unserved, Unserved{Queue: queue, Pending: pending})
		}
	}
	return unserved, nil
}
