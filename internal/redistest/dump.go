package redistest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Dump is the type and the whole content of every key that begins with prefix and a colon. Two equal dumps mean that
// nothing was written in between.
func Dump(tb testing.TB, client *redis.Client, prefix string) map[string]string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out := map[string]string{}
	keys := client.Scan(ctx, 0, prefix+":*", 1000).Iterator()
	for keys.Next(ctx) {
		content, err := content(ctx, client, keys.Val())
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

func content(ctx context.Context, client *redis.Client, key string) (string, error) {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return "", err
	}
	var value any
	switch kind {
	case "hash":
		value, err = client.HGetAll(ctx, key).Result() // fmt prints maps in order
	case "list":
		value, err = client.LRange(ctx, key, 0, -1).Result()
	case "zset":
		value, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
	case "string":
		value, err = client.Get(ctx, key).Result()
	default:
		err = fmt.Errorf("a key of type %s", kind)
	}
	return fmt.Sprintf("%s %q", kind, fmt.Sprint(value)), err
}
