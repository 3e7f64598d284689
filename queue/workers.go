package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

// Worker is a live worker, as it said itself a moment ago.
type Worker struct {
	ID          string // as in its claims
	Host        string // the name of the machine that it runs on; empty when it does not say
	PID         int    // its process there; 0 when it does not say
	StartedAtMs int64  // by its own clock
	Queues      []string
	Concurrency int
	Held        int            // how many executions it holds
	Holding     []execution.ID // which; at most 200
	Draining    bool           // it takes no more tasks
	Work        *Work          // what it has done; nil when it does not say
}

// Serves reports whether the worker takes tasks of the queue.
func (w *Worker) Serves(queue string) bool { return slices.Contains(w.Queues, queue) }

// Workers lists the live workers, by id, with what they hold. One whose word cannot be read is left out, and logged. Two round
// trips, whose size grows with the number of workers.
func (c *Client) Workers(ctx context.Context) ([]Worker, error) {
	ids, err := c.rdb.ZRange(ctx, workersKey(c.cfg.Prefix), 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	return c.workers(ctx, ids, true)
}

// workers reads the keys of workers; those whose key has run out are left out.
func (c *Client) workers(ctx context.Context, ids []string, withHolding bool) ([]Worker, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	pipe := c.rdb.Pipeline()
	said, holding := make([]*redis.StringCmd, len(ids)), make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		said[i] = pipe.Get(ctx, workerKey(c.cfg.Prefix, id))
		if withHolding {
			holding[i] = pipe.Get(ctx, holdingKey(c.cfg.Prefix, id))
		}
	}
	if err := each(ctx, pipe); err != nil {
		return nil, fmt.Errorf("read the presence of %d workers: %w", len(ids), err)
	}
	var live []Worker
	for i, id := range ids {
		data, err := said[i].Bytes()
		if err != nil { // its key has run out
			continue
		}
		worker, err := decodeWorker(id, data)
		if err != nil {
			c.cfg.Logger.WarnContext(ctx, "what a worker says of itself cannot be read", "error", err)
			continue
		}
		if withHolding {
			worker.Holding = splitIDs(holding[i].Val())
		}
		live = append(live, worker)
	}
	return live, nil
}

func decodeWorker(id string, data []byte) (Worker, error) {
	var stored storedWorker
	if err := json.Unmarshal(data, &stored); err != nil {
		return Worker{}, fmt.Errorf("read the presence of worker %s: %w", id, err)
	}
	return Worker{
		ID: id, StartedAtMs: stored.StartedAtMs, Queues: stored.Queues, Concurrency: stored.Concurrency, Held: stored.Held,
		Draining: stored.Draining, Work: stored.Work, Host: stored.Host, PID: stored.PID,
	}, nil
}

func splitIDs(text string) []execution.ID {
	if text == "" {
		return nil
	}
	var ids []execution.ID
	for id := range strings.SplitSeq(text, "\n") {
		ids = append(ids, execution.ID(id))
	}
	return ids
}
