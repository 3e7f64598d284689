package app

import (
	"context"
	"log/slog"
	"sync"

	"github.com/pawl-run/pawl/internal/inventory"
	"github.com/pawl-run/pawl/internal/redisconn"
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
		Memory: func(ctx context.Context) (memory telemetry.Memory, err error) {
			memory.Used, memory.Max, err = redisconn.Memory(ctx, b.rdb)
			return memory, err
		},
	}
}
