package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Latency is how long the oldest task of every queue this client knows, of those that may run, has waited; 0 where none
// does. Two round trips and constant time per queue. By the clock of this process: the instants are those of Asynq's clients.
func (c *Client) Latency(ctx context.Context) (map[string]time.Duration, error) {
	return c.LatencyOf(ctx, c.queues())
}

// LatencyOf tells it of the queues, as Latency does.
func (c *Client) LatencyOf(ctx context.Context, queues []string) (map[string]time.Duration, error) {
	oldest := make([]*redis.StringCmd, len(queues))
	pipe := c.rdb.Pipeline()
	for i, queue := range queues {
		oldest[i] = pipe.LIndex(ctx, pendingKey(queue), -1)
	}
	if err := each(ctx, pipe); err != nil {
		return nil, fmt.Errorf("find the oldest tasks of %d queues: %w", len(queues), err)
	}
	since := make([]*redis.StringCmd, len(queues))
	pipe = c.rdb.Pipeline()
	for i, queue := range queues {
		if oldest[i].Err() == nil {
			since[i] = pipe.HGet(ctx, taskKey(queue, oldest[i].Val()), "pending_since")
		}
	}
	if err := each(ctx, pipe); err != nil {
		return nil, fmt.Errorf("read the oldest tasks of %d queues: %w", len(queues), err)
	}
	now := time.Now()
	waits := make(map[string]time.Duration, len(queues))
	for i, queue := range queues {
		waits[queue] = 0
		if since[i] == nil {
			continue
		}
		if nanos, err := since[i].Int64(); err == nil { // else it was taken meanwhile
			waits[queue] = max(0, now.Sub(time.Unix(0, nanos)))
		}
	}
	return waits, nil
}
