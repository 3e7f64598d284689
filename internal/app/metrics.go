package app

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/inventory"
	"github.com/pawl-run/pawl/internal/telemetry"
)

// sampledKeys is how many keys of each node a scrape draws to estimate what their kinds weigh.
const sampledKeys = 100

// keyPrefix begins the keys of an installation.
const keyPrefix = "pawl"

// installation is what a scrape asks about the whole installation.
func installation(b *base, logger *slog.Logger) telemetry.Installation {
	var one sync.Mutex
	sampler := inventory.NewSampler(keyPrefix, sampledKeys)
	return telemetry.Installation{
		Kinds: func(ctx context.Context) (map[string]float64, error) {
			one.Lock()
			defer one.Unlock()
			return sampler.Sample(ctx, b.rdb)
		},
		Executions: b.store, Queues: b.tasks, Logger: logger,
		Memory: func(ctx context.Context) (telemetry.Memory, error) { return memoryOf(ctx, b.rdb) },
	}
}

// memoryOf asks Redis how full it is; of a cluster, each primary.
func memoryOf(ctx context.Context, rdb redis.UniversalClient) (telemetry.Memory, error) {
	cluster, is := rdb.(*redis.ClusterClient)
	if !is {
		return memoryOfNode(ctx, rdb)
	}
	found := make(chan telemetry.Memory, maxPrimaries)
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		memory, err := memoryOfNode(ctx, node)
		if err == nil {
			found <- memory
		}
		return err
	})
	close(found)
	var sum telemetry.Memory
	for memory := range found {
		sum.Used += memory.Used
		sum.Max += memory.Max
	}
	return sum, err
}

// maxPrimaries is more than any cluster has.
const maxPrimaries = 1024

func memoryOfNode(ctx context.Context, rdb redis.Cmdable) (memory telemetry.Memory, err error) {
	info, err := rdb.Info(ctx, "memory").Result()
	if err != nil {
		return memory, fmt.Errorf("ask for the memory: %w", err)
	}
	for line := range strings.SplitSeq(info, "\r\n") {
		name, text, _ := strings.Cut(line, ":")
		switch name {
		case "used_memory":
			memory.Used, err = strconv.ParseInt(text, 10, 64)
		case "maxmemory":
			memory.Max, err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil {
			return memory, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return memory, nil
}
