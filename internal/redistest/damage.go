package redistest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// DamageEvent makes the event at an index of a stored log unreadable, its time too or not.
func DamageEvent(tb testing.TB, client *redis.Client, key string, index int64, timeToo bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	stored, err := client.LIndex(ctx, key, index).Result()
	if err != nil {
		tb.Fatalf("redistest: event %d of %s: %v", index, key, err)
	}
	at, _, _ := strings.Cut(stored, " ")
	if timeToo {
		at = "\xff"
	}
	if err := client.LSet(ctx, key, index, at+" m\x00\xff\"turn").Err(); err != nil {
		tb.Fatalf("redistest: event %d of %s: %v", index, key, err)
	}
}
