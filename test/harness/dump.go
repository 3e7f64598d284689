package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Dump is every key of Pawl's but the presence of workers, with its content and its expiry.
func (s *Stack) Dump() map[string]string {
	s.tb.Helper()
	ctx := context.Background()
	dump := map[string]string{}
	for _, key := range s.Keys("pawl:*") {
		if strings.HasPrefix(key, "pawl:worker:") {
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

func contentOf(ctx context.Context, client *redis.Client, key string) (string, error) {
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
