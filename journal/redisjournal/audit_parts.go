package redisjournal

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

// auditPart is a key that an execution has beside its row.
type auditPart struct {
	id  execution.ID
	key string
}

// eachPart goes through the keys of one kind of all executions, named by their tail such as ":events", at most so many at a time.
func (s *Store) eachPart(ctx context.Context, tail string, most int, look func(context.Context, []auditPart) error) error {
	pattern := globEscape(s.keys.prefix) + ":{p*}:" + rowMark + "*" + tail
	return s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		for cursor := uint64(0); ; {
			keys, next, err := node.Scan(ctx, cursor, pattern, auditKeys).Result()
			if err != nil {
				return err
			}
			for some := range slices.Chunk(partsOf(keys, tail), most) {
				if err := look(ctx, some); err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	})
}

func partsOf(keys []string, tail string) []auditPart {
	var parts []auditPart
	for _, key := range keys {
		_, name, _ := strings.Cut(key, "}:")
		if id, err := execution.ParseID(strings.TrimSuffix(strings.TrimPrefix(name, rowMark), tail)); err == nil {
			parts = append(parts, auditPart{id: id, key: key})
		}
	}
	return parts
}
