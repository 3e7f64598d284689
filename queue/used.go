package queue

import (
	"context"
	"fmt"
	"slices"
)

// Used lists, by name, the queues that this client knows and those that any other one ever used. One round trip, whose size grows
// with the number of queues.
func (c *Client) Used(ctx context.Context) ([]string, error) {
	named, err := c.rdb.SMembers(ctx, allQueuesKey).Result()
	if err != nil {
		return nil, fmt.Errorf("list the queues: %w", err)
	}
	return slices.Compact(slices.Sorted(slices.Values(append(named, c.queues()...)))), nil
}
