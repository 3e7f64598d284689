package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/redisconn"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/queue"
)

// base is what every program stands on: Redis, the journal in it, and the queue's client.
type base struct {
	rdb   redis.UniversalClient
	facts redisconn.Facts
	store *redisjournal.Store
	tasks *queue.Client
}

// newBase connects and checks. Close it.
func newBase(ctx context.Context, cfg redisConfig, rules config.Journal, deps Deps) (*base, error) {
	cfg.noChecks, cfg.told = deps.NoChecks, deps.RedisTold
	rdb, facts, err := connectRedis(ctx, cfg, deps.Logger)
	if err != nil {
		return nil, err
	}
	b := &base{rdb: rdb, facts: facts}
	ruled := journalConfig(rules)
	ruled.SweepLock = cfg.sweepLock
	b.store, err = redisjournal.New(rdb, redisjournal.Config{Config: ruled, Logger: deps.Logger})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	b.tasks, err = queue.NewClient(rdb, queue.ClientConfig{Waker: deps.Waker, Gather: b.store.Gather(), Logger: deps.Logger})
	if err != nil {
		return nil, errors.Join(err, b.store.Close(), rdb.Close())
	}
	return b, nil
}

// journalConfig is the rules as the store takes them.
func journalConfig(rules config.Journal) journal.Config {
	return journal.Config{
		HandoffGrace: rules.HandoffGrace, Retention: rules.Retention, CleanupTimeout: rules.CleanupTimeout, MaxEvents: rules.MaxEvents,
	}
}

// close ends the connections. Nothing can be lost by then, so an error is only worth a line.
func (b *base) close(ctx context.Context, logger *slog.Logger) {
	if err := errors.Join(b.store.Close(), b.rdb.Close()); err != nil {
		logger.DebugContext(ctx, "close redis", "error", err)
	}
}

// durability says in words how durable a written step is.
func durability(facts redisconn.Facts) string {
	switch facts.AppendOnly {
	case "yes":
		return fmt.Sprintf("append-only file, appendfsync %s", facts.AppendFsync)
	case "no":
		if facts.Snapshots == "none" {
			return "none: memory only"
		}
		return fmt.Sprintf("snapshots only (%s)", facts.Snapshots)
	default:
		return redisconn.Unknown
	}
}
