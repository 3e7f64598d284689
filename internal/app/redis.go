package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/redisconn"
)

const (
	// redisPatience is how long a program that starts waits for Redis before it gives up.
	redisPatience = 30 * time.Second
	redisRetry    = 500 * time.Millisecond
)

// redisConfig says how a program connects.
type redisConfig struct {
	url         string
	strict      bool
	concurrency int
	program     string
	noChecks    bool
	told        bool // somebody else reports what was found
	// sweepLock is how long a reaper has a partition to itself; 0 where nothing sweeps.
	sweepLock time.Duration
}

// connectRedis opens the client, waits until Redis answers, and checks that it is fit to hold executions.
func connectRedis(ctx context.Context, cfg redisConfig, logger *slog.Logger) (redis.UniversalClient, redisconn.Facts, error) {
	rdb, err := redisconn.Open(redisconn.Config{
		URL: cfg.url, Concurrency: cfg.concurrency, ClientName: "pawl-" + cfg.program,
	})
	if err != nil {
		return nil, redisconn.Facts{}, fmt.Errorf("PAWL_REDIS_URL: %w", err)
	}
	var facts redisconn.Facts
	if cfg.noChecks {
		facts = redisconn.Facts{
			Server: "embedded", Version: redisconn.Unknown, Mode: "standalone", Nodes: 1,
			AppendOnly: "no", Snapshots: "none",
		}
	} else if facts, err = inspect(ctx, rdb, cfg, logger); err != nil {
		return nil, redisconn.Facts{}, errors.Join(err, rdb.Close())
	}
	return rdb, facts, nil
}

func inspect(ctx context.Context, rdb redis.UniversalClient, cfg redisConfig, logger *slog.Logger) (redisconn.Facts, error) {
	facts, err := awaitRedis(ctx, rdb, redisPatience, logger)
	if err != nil {
		return facts, fmt.Errorf("redis at %s: %w", redisconn.Redact(cfg.url), err)
	}
	if cfg.told {
		return facts, strictly(cfg.strict, facts)
	}
	logger.InfoContext(ctx, "redis", "url", redisconn.Redact(cfg.url), "server", facts.Server, "version", facts.Version,
		"mode", facts.Mode, "nodes", facts.Nodes, "eviction", facts.MaxMemoryPolicy, "durability", durability(facts))
	for _, warning := range facts.Warnings {
		logger.WarnContext(ctx, "REDIS IS NOT FIT TO HOLD EXECUTIONS: "+warning)
	}
	return facts, strictly(cfg.strict, facts)
}

func strictly(strict bool, facts redisconn.Facts) error {
	if strict {
		return facts.Strict()
	}
	return nil
}

// awaitRedis asks until Redis answers. A refusal, such as a wrong password, is final; so is too long a silence.
func awaitRedis(
	ctx context.Context, rdb redis.UniversalClient, patience time.Duration, logger *slog.Logger,
) (redisconn.Facts, error) {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(redisRetry)
	defer tick.Stop()
	var last error
	for {
		facts, err := redisconn.Inspect(patient, rdb)
		if err == nil || refusedForGood(err) {
			return facts, err
		}
		if last == nil {
			logger.WarnContext(ctx, "redis does not answer yet; waiting for it", "patience", patience.String(), "error", err)
		}
		if last == nil || patient.Err() == nil {
			last = err // an attempt that our own deadline cut off says less than the one before
		}
		select {
		case <-patient.Done():
			if ctx.Err() != nil { // the program is to stop: no fault of Redis
				return facts, ctx.Err()
			}
			return facts, fmt.Errorf("no answer: start it, or set PAWL_REDIS_URL to another: %w", last)
		case <-tick.C:
		}
	}
}

// refusedForGood reports whether Redis answered, and would answer the same again.
func refusedForGood(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	text := answer.Error()
	for _, passing := range []string{"LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "ERR max number of clients"} {
		if strings.HasPrefix(text, passing) {
			return false
		}
	}
	return true
}
