package redisconn

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

// EachNode calls f with each server that holds keys, one after the other: with the masters of a cluster, else with the one
// that there is.
func EachNode(ctx context.Context, rdb redis.UniversalClient, f func(context.Context, redis.Cmdable) error) error {
	cluster, ok := rdb.(*redis.ClusterClient)
	if !ok {
		return f(ctx, rdb)
	}
	var one sync.Mutex // ForEachMaster calls all at once
	return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		one.Lock()
		defer one.Unlock()
		return f(ctx, node)
	})
}

// Memory is what Redis uses and may use, in bytes; of a cluster, of all masters together. most is 0 where it has no bound.
func Memory(ctx context.Context, rdb redis.UniversalClient) (used, most int64, err error) {
	err = EachNode(ctx, rdb, func(ctx context.Context, node redis.Cmdable) error {
		text, err := node.Info(ctx, "memory").Result()
		if err != nil {
			return fmt.Errorf("ask for the memory: %w", err)
		}
		info := parseInfo(text)
		for name, sum := range map[string]*int64{"used_memory": &used, "maxmemory": &most} {
			bytes, err := strconv.ParseInt(info[name], 10, 64)
			if err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			*sum += bytes
		}
		return nil
	})
	return used, most, err
}
