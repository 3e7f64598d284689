package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/redisserver"
)

const (
	leftoverTimeout = 10 * time.Second
	addrFile        = "redis.addr"
	lockFile        = "lock"
)

// startRedisServer starts a redis-server with an append-only file in dir. The folder is ours alone until stop.
func startRedisServer(ctx context.Context, path, dir string, logger *slog.Logger) (*devRedis, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("PAWL_DATA_DIR: %w", err)
	}
	unlock, err := lockDir(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("PAWL_DATA_DIR: %s is used by another `pawl dev`: stop that one, or name another folder: %w",
			dir, err)
	}
	endLeftover(ctx, filepath.Join(dir, addrFile), logger)
	server, err := redisserver.Start(ctx, path, dir, "--appendonly", "yes", "--appendfsync", "everysec")
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	stop := func() {
		server.Stop()
		if err := errors.Join(server.Err(), unlock()); err != nil {
			logger.Debug("end redis-server", "error", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, addrFile), []byte(server.Addr()+"\n"), 0o600); err != nil {
		stop()
		return nil, fmt.Errorf("PAWL_DATA_DIR: %w", err)
	}
	return &devRedis{
		url: "redis://" + server.Addr(), ended: server.Done(),
		about: fmt.Sprintf("executions are kept in %s by a redis-server of its own (%s)", dir, server.Addr()), stop: stop,
	}, nil
}

// endLeftover ends the redis-server of a `pawl dev` that was killed where children are not told: two servers must not
// write one append-only file. The lock on the folder says that nobody else uses it.
func endLeftover(ctx context.Context, file string, logger *slog.Logger) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leftoverTimeout)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: strings.TrimSpace(string(text)), MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = rdb.Close() }() // only used for a shutdown
	dir, err := rdb.ConfigGet(ctx, "dir").Result()
	if err != nil || !sameDir(dir["dir"], filepath.Dir(file)) {
		return // nobody there, or somebody else's by now
	}
	logger.WarnContext(ctx, "ending a redis-server that an earlier run left behind", "addr", strings.TrimSpace(string(text)))
	if err := rdb.Shutdown(ctx).Err(); err != nil {
		logger.DebugContext(ctx, "shut it down", "error", err)
	}
}

func sameDir(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
