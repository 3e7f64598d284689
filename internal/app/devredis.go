package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/redisconn"
	"github.com/pawl-run/pawl/internal/redisserver"
)

// devRedis is the Redis that `pawl dev` works on.
type devRedis struct {
	url      string
	about    string // for the person who started it
	embedded bool
	stop     func()
	// ended is closed when the Redis ended by itself; nil when it is not ours to watch.
	ended <-chan struct{}
}

// openDevRedis takes the Redis of the environment, else starts a redis-server (or a valkey-server) of its own, else an embedded one.
func openDevRedis(ctx context.Context, cfg config.DevStore, logger *slog.Logger) (*devRedis, error) {
	if url := cfg.RedisURL.Reveal(); url != "" {
		return awaitDevRedis(ctx, cfg, redisPatience, logger)
	}
	path, err := redisserver.Find()
	if err == nil {
		return startRedisServer(ctx, path, cfg.DataDir, logger)
	}
	if !errors.Is(err, exec.ErrNotFound) {
		logger.DebugContext(ctx, "look for a server", "error", err)
	}
	return startEmbedded()
}

// awaitDevRedis waits for the Redis of the environment, so that one part says what is wrong with it and not all three.
func awaitDevRedis(
	ctx context.Context, cfg config.DevStore, patience time.Duration, logger *slog.Logger,
) (*devRedis, error) {
	url := cfg.RedisURL.Reveal()
	rdb, err := redisconn.Open(redisconn.Config{URL: url, Concurrency: 1, ClientName: "pawl-dev"})
	if err != nil {
		return nil, fmt.Errorf("PAWL_REDIS_URL: %w", err)
	}
	defer func() { _ = rdb.Close() }() // it has only asked
	shown := redisconn.Redact(url)
	facts, err := awaitRedis(ctx, rdb, patience, logger)
	if err == nil {
		err = strictly(cfg.Strict, facts)
	}
	if err != nil {
		return nil, fmt.Errorf("redis at %s: %w", shown, err)
	}
	return &devRedis{url: url, about: "executions are kept in " + shown, stop: func() {}}, nil
}

// startEmbedded starts a Redis inside this process.
func startEmbedded() (*devRedis, error) {
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true) // keys expire by the clock and not by hand
	if err := mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the embedded redis: %w", err)
	}
	return &devRedis{
		url: "redis://" + mini.Addr(), embedded: true, stop: mini.Close,
		about: "WARNING: no redis-server and no valkey-server was found, so executions are kept in memory only and end with this program",
	}, nil
}
