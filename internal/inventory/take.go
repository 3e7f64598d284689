package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/redisconn"
)

const (
	asynqPrefix = "asynq:"
	keysAtOnce  = 500
	// namedUnknown is how many unknown keys are named.
	namedUnknown = 20
)

// Line is what is stored of a kind.
type Line struct {
	Kind
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"` // as MEMORY USAGE estimates
	// Names are keys of the kind Unknown, at most 20.
	Names []string `json:"names,omitempty"`
}

// Take goes through all keys of an installation, a few at a time, and gives a line for each kind that there is. Keys that
// come or go meanwhile may be missed.
func Take(ctx context.Context, rdb redis.UniversalClient, prefix string) ([]Line, error) {
	t := &taking{classes: newClasses(prefix), lines: map[string]*Line{}}
	patterns := []string{globEscape(prefix) + ":*", asynqPrefix + "*"}
	err := redisconn.EachNode(ctx, rdb, func(ctx context.Context, node redis.Cmdable) error {
		for _, pattern := range patterns {
			if err := t.scan(ctx, node, pattern); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take the inventory: %w", err)
	}
	var lines []Line
	for _, kind := range Kinds() {
		if line := t.lines[kind.Name]; line != nil {
			line.Kind = kind
			lines = append(lines, *line)
		}
	}
	return lines, nil
}

type taking struct {
	classes *classes
	lines   map[string]*Line
}

func (t *taking) scan(ctx context.Context, node redis.Cmdable, pattern string) error {
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, keysAtOnce).Result()
		if err != nil {
			return err
		}
		if err := t.weigh(ctx, node, keys); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

func (t *taking) weigh(ctx context.Context, node redis.Cmdable, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	usages, err := usage(ctx, node, keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if usages[i].Err() != nil {
			continue // gone since
		}
		kind := t.classes.of(key)
		line := t.lines[kind]
		if line == nil {
			line = &Line{}
			t.lines[kind] = line
		}
		line.Count++
		line.Bytes += usages[i].Val()
		if kind == Unknown && len(line.Names) < namedUnknown {
			line.Names = append(line.Names, key)
		}
	}
	return nil
}

// usage asks what each key weighs. A key that has gone since has an error of its own.
func usage(ctx context.Context, node redis.Cmdable, keys []string) ([]*redis.IntCmd, error) {
	usages := make([]*redis.IntCmd, len(keys))
	_, err := node.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			usages[i] = pipe.MemoryUsage(ctx, key)
		}
		return nil
	})
	if err != nil && !allNil(usages) {
		return nil, err
	}
	return usages, nil
}

// allNil reports whether nothing but missing keys went wrong.
func allNil(usages []*redis.IntCmd) bool {
	for _, usage := range usages {
		if err := usage.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return false
		}
	}
	return true
}

func globEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}
