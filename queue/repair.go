package queue

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	repairPage  = 200  // ids of one script
	repairLimit = 5000 // ids of one list and one pass
)

var (
	//go:embed lua/repair_active.lua
	repairActiveSource string
	//go:embed lua/repair_lease.lua
	repairLeaseSource string
	//go:embed lua/repair_dead.lua
	repairDeadSource string
)

// Repair removes what Asynq itself never removes and stumbles over: active ids without a lease (they get one, and their
// time runs), ids without a task, leases without an active id, and names missing from Asynq's list of queues. It is one
// bounded pass, safe to run often and in parallel; n counts the entries it changed. A queue that cannot be repaired does
// not stop the others: the error joins all of theirs.
func (c *Client) Repair(ctx context.Context) (n int, err error) {
	queues := c.queues()
	if len(queues) == 0 {
		return 0, nil
	}
	names := make([]any, len(queues))
	for i, queue := range queues {
		names[i] = queue
	}
	added, err := c.rdb.SAdd(ctx, allQueuesKey, names...).Result()
	if err != nil {
		return 0, fmt.Errorf("repair the list of queues: %w", err)
	}
	n = int(added)
	var errs []error
	for _, queue := range queues {
		fixed, err := c.repairQueue(ctx, queue)
		n += fixed
		if err != nil {
			errs = append(errs, fmt.Errorf("repair queue %s: %w", queue, err))
		}
	}
	return n, errors.Join(errs...)
}

func (c *Client) repairQueue(ctx context.Context, queue string) (int, error) {
	keys := []string{activeKey(queue), leaseKey(queue)}
	fixed, err := c.pages(ctx, repairActiveSource, keys, 0, taskKeyPrefix(queue), int(leaseTTL/time.Second))
	if err != nil {
		return fixed, err
	}
	more, err := c.page(ctx, repairLeaseSource, keys, 0, taskKeyPrefix(queue), int(leaseTTL/time.Second))
	fixed += more.fixed
	if err != nil {
		return fixed, err
	}
	for _, set := range []string{archivedKey(queue), completedKey(queue)} {
		more, err := c.repairDead(ctx, queue, set)
		fixed += more
		if err != nil {
			return fixed, err
		}
	}
	return fixed, nil
}

// repairDead looks at one page of a set that may be long; the next pass goes on behind it.
func (c *Client) repairDead(ctx context.Context, queue, set string) (int, error) {
	c.mu.Lock()
	from := c.deadFrom[set]
	c.mu.Unlock()
	p, err := c.page(ctx, repairDeadSource, []string{set}, from, taskKeyPrefix(queue))
	if err != nil {
		return 0, err
	}
	next := from + int64(p.seen-p.fixed)
	if p.seen < repairPage {
		next = 0
	}
	c.mu.Lock()
	c.deadFrom[set] = next
	c.mu.Unlock()
	return p.fixed, nil
}

// paged is what one script did: seen ids of which fixed were changed and gone were removed from the list.
type paged struct{ seen, fixed, gone int }

func (c *Client) pages(ctx context.Context, source string, keys []string, from int64, args ...any) (int, error) {
	total := 0
	for seen := 0; seen < repairLimit; {
		p, err := c.page(ctx, source, keys, from, args...)
		total += p.fixed
		if err != nil {
			return total, err
		}
		if p.seen < repairPage {
			return total, nil
		}
		seen += p.seen
		from += int64(p.seen - p.gone)
	}
	return total, nil
}

func (c *Client) page(ctx context.Context, source string, keys []string, from int64, args ...any) (paged, error) {
	args = append([]any{from, repairPage}, args...)
	reply, err := redis.NewScript(source).Run(ctx, c.rdb, keys, args...).Int64Slice()
	if err != nil {
		return paged{}, err
	}
	if len(reply) != 3 {
		return paged{}, fmt.Errorf("repair script answered %d numbers", len(reply))
	}
	return paged{seen: int(reply[0]), fixed: int(reply[1]), gone: int(reply[2])}, nil
}
