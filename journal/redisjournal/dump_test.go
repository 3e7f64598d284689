package redisjournal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// allKeys lists the keys of a prefix, on every master.
func allKeys(ctx context.Context, t *testing.T, rdb redis.UniversalClient, prefix string) []string {
	t.Helper()
	var keys []string
	scan := func(ctx context.Context, client *redis.Client) error {
		iterator := client.Scan(ctx, 0, prefix+":*", 1000).Iterator()
		for iterator.Next(ctx) {
			keys = append(keys, iterator.Val())
		}
		return iterator.Err()
	}
	switch client := rdb.(type) {
	case *redis.Client:
		require.NoError(t, scan(ctx, client))
	case *redis.ClusterClient:
		require.NoError(t, client.ForEachMaster(ctx, scan))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// describe is the type and the whole content of a key.
func describe(ctx context.Context, rdb redis.UniversalClient, key string) (string, error) {
	kind, err := rdb.Type(ctx, key).Result()
	if err != nil {
		return "", err
	}
	var content any
	switch kind {
	case "hash":
		content, err = rdb.HGetAll(ctx, key).Result() // fmt prints maps in order
	case "list":
		content, err = rdb.LRange(ctx, key, 0, -1).Result()
	case "zset":
		content, err = rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
	case "string":
		content, err = rdb.Get(ctx, key).Result()
	}
	return fmt.Sprintf("%s %q", kind, fmt.Sprint(content)), err
}

// scores is what the three indexes hold of executions: index to member to score.
func scores(ctx context.Context, t *testing.T, rdb redis.UniversalClient, prefix string) map[string]map[string]int64 {
	t.Helper()
	out := map[string]map[string]int64{"due": {}, "handoff": {}, "purge": {}}
	for _, key := range allKeys(ctx, t, rdb, prefix) {
		index := key[strings.LastIndex(key, ":")+1:]
		if out[index] == nil || !strings.HasSuffix(key, "}:"+index) {
			continue
		}
		entries, err := rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
		require.NoError(t, err)
		for _, entry := range entries {
			if member := entry.Member.(string); !strings.HasPrefix(member, keyMemberPrefix) {
				out[index][member] = int64(entry.Score)
			}
		}
	}
	return out
}
