package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// settleTimeout is longer than a wake-up or a sweep's lock lives.
const settleTimeout = time.Minute

// Dump is every key of Pawl's but the presence of workers, with its content and its expiry. It first waits until the
// wake-ups and sweep locks of a moment ago have expired by themselves, so nothing may be at work.
func (s *Stack) Dump() map[string]string {
	s.tb.Helper()
	Eventually(s.tb, settleTimeout, "short-lived keys expire", func() bool { return len(s.shortLived()) == 0 })
	ctx := context.Background()
	dump := map[string]string{}
	for _, key := range s.Keys("pawl:*") {
		if presence(key) {
			continue
		}
		content, err := contentOf(ctx, s.Redis, key)
		if err != nil {
			s.tb.Fatalf("dump %s: %v", key, err)
		}
		dump[key] = content
	}
	return dump
}

// shortLived lists the keys that expire within the minute.
func (s *Stack) shortLived() []string {
	s.tb.Helper()
	var list []string
	for _, key := range s.Keys("pawl:*") {
		ttl, err := s.Redis.PTTL(context.Background(), key).Result()
		if err != nil {
			s.tb.Fatalf("expiry of %s: %v", key, err)
		}
		if !presence(key) && ttl >= 0 && ttl < time.Minute {
			list = append(list, key)
		}
	}
	return list
}

// presence reports whether the key says which workers are there.
func presence(key string) bool {
	return strings.HasPrefix(key, "pawl:worker:") || key == "pawl:workers"
}

// Keys lists the keys that match the pattern.
func (s *Stack) Keys(pattern string) []string {
	s.tb.Helper()
	ctx := context.Background()
	var keys []string
	scan := s.Redis.Scan(ctx, 0, pattern, 1000).Iterator()
	for scan.Next(ctx) {
		keys = append(keys, scan.Val())
	}
	if err := scan.Err(); err != nil {
		s.tb.Fatalf("scan %s: %v", pattern, err)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func contentOf(ctx context.Context, client redis.Cmdable, key string) (string, error) {
	kind, err := client.Type(ctx, key).Result()
	if err != nil {
		return "", err
	}
	expiry, err := client.PExpireTime(ctx, key).Result()
	if err != nil {
		return "", err
	}
	var value any
	switch kind {
	case "string":
		value, err = client.Get(ctx, key).Result()
	case "hash":
		var fields map[string]string
		fields, err = client.HGetAll(ctx, key).Result()
		value = sorted(fields)
	case "list":
		value, err = client.LRange(ctx, key, 0, -1).Result()
	case "zset":
		value, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
	case "set":
		var members []string
		members, err = client.SMembers(ctx, key).Result()
		slices.Sort(members)
		value = members
	default:
		return "", fmt.Errorf("type %q is not expected", kind)
	}
	return fmt.Sprintf("%s expires %d: %q", kind, int64(expiry), fmt.Sprint(value)), err
}

func sorted(fields map[string]string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, fmt.Sprintf("%q=%q", name, fields[name]))
	}
	return list
}

// CheckDump fails the test if the dumps differ, and says where.
func CheckDump(tb testing.TB, before, after map[string]string) {
	tb.Helper()
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if got, ok := after[key]; !ok {
			tb.Errorf("key %s is gone; it was %s", key, before[key])
		} else if got != before[key] {
			tb.Errorf("key %s changed\nfrom %s\nto   %s", key, before[key], got)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[key]; !ok {
			tb.Errorf("key %s is new: %s", key, after[key])
		}
	}
}
