package redisjournal

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	memorySampleInterval = time.Second
	memorySampleTimeout  = 250 * time.Millisecond
	// Above these parts of maxmemory no execution is accepted and no claim is granted, so that what is under way has
	// room to be committed.
	reserveCeiling = 0.80
	claimCeiling   = 0.90
)

// memoryGuard knows how full each master is. It asks a master at most once per second and never waits long: a master
// that does not answer, or has no maxmemory, counts as empty.
type memoryGuard struct {
	rdb redis.UniversalClient

	mu      sync.Mutex
	masters map[string]*memorySample
}

type memorySample struct {
	takenAt time.Time
	used    float64 // part of maxmemory
}

func newMemoryGuard(rdb redis.UniversalClient) *memoryGuard {
	return &memoryGuard{rdb: rdb, masters: make(map[string]*memorySample)}
}

// above reports whether the master that holds key uses more than ceiling of its maxmemory.
func (g *memoryGuard) above(ctx context.Context, key string, ceiling float64) bool {
	name, master, err := g.master(ctx, key)
	if err != nil {
		return false // the call itself will find out and say so
	}
	g.mu.Lock()
	sample := g.masters[name]
	if sample == nil {
		sample = &memorySample{}
		g.masters[name] = sample
	}
	stale := time.Since(sample.takenAt) >= memorySampleInterval
	if stale {
		sample.takenAt = time.Now() // the others go on with the old value while this caller asks
	}
	used := sample.used
	g.mu.Unlock()
	if stale {
		used = usedMemory(ctx, master)
		g.mu.Lock()
		sample.used = used
		g.mu.Unlock()
	}
	return used >= ceiling
}

func (g *memoryGuard) master(ctx context.Context, key string) (string, redis.Cmdable, error) {
	cluster, ok := g.rdb.(*redis.ClusterClient)
	if !ok {
		return "", g.rdb, nil
	}
	ctx, cancel := context.WithTimeout(ctx, memorySampleTimeout)
	defer cancel()
	client, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return "", nil, err
	}
	return client.Options().Addr, client, nil
}

func usedMemory(ctx context.Context, master redis.Cmdable) float64 {
	ctx, cancel := context.WithTimeout(ctx, memorySampleTimeout)
	defer cancel()
	info, err := master.Info(ctx, "memory").Result()
	if err != nil {
		return 0
	}
	var used, limit float64
	for line := range strings.SplitSeq(info, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "used_memory":
			used, err = strconv.ParseFloat(value, 64)
		case "maxmemory":
			limit, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return 0
		}
	}
	if limit == 0 {
		return 0
	}
	return used / limit
}
