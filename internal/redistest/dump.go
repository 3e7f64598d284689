package redistest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Dump is the type and the whole content of every key that begins with prefix and a colon. Two equal dumps mean that
// nothing was written in between. A key that expires meanwhile is left out.
func Dump(tb testing.TB, client *redis.Client, prefix string) map[string]string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out := map[string]string{}
	keys := client.Scan(ctx, 0, prefix+":*", 1000).Iterator()
	for keys.Next(ctx) {
		content, err := content(ctx, client, keys.Val())
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			tb.Fatalf("redistest: dump %s: %v", keys.Val(), err)
		}
		out[keys.Val()] = content
	}
	if err := keys.Err(); err != nil {
		tb.Fatalf("redistest: dump: %v", err)
	}
	return out
}

// content is redis.Nil where the key has gone. Redis keeps nothing that is empty but a string.
func content(ctx context.Context, client *redis.Client, key string) (string, error) {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return "", err
	}
	var (
		value any
		gone  bool
	)
	switch kind {
	case "hash":
		var fields map[string]string
		fields, err = client.HGetAll(ctx, key).Result()
		value, gone = fields, len(fields) == 0 // fmt prints maps in order
	case "list":
		var entries []string
		entries, err = client.LRange(ctx, key, 0, -1).Result()
		value, gone = entries, len(entries) == 0
	case "zset":
		var members []redis.Z
		members, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
		value, gone = members, len(members) == 0
	case "string":
		value, err = client.Get(ctx, key).Result()
	case "none":
		gone = true
	default:
		err = fmt.Errorf("a key of type %s", kind)
	}
	if err == nil && gone {
		err = redis.Nil
	}
	return fmt.Sprintf("%s %q", kind, fmt.Sprint(value)), err
}
