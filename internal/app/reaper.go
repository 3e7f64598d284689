package app

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/reaper"
)

// reaperConnections is how many connections a reaper uses at once.
const reaperConnections = 10

// RunReaper sweeps until ctx ends.
func RunReaper(ctx context.Context, cfg config.Reaper, deps Deps) error {
	deps = deps.withDefaults()
	b, err := newBase(ctx, redisConfig{
		url: cfg.RedisURL.Reveal(), strict: cfg.Strict, concurrency: reaperConnections, program: "reaper",
		// Shorter than the shortest wait between two passes: parallel reapers save each other work, and no partition is
		// left alone for longer than an interval, whoever dies.
		sweepLock: cfg.ReapInterval / 2,
	}, cfg.Journal, deps)
	if err != nil {
		return err
	}
	defer b.close(context.WithoutCancel(ctx), deps.Logger)
	metrics := deps.measures("reaper")
	far, err := newRemotes(metrics, deps.Logger)
	if err != nil {
		return err
	}
	defer far.Close()
	remote, err := executor.NewRemoteCleaner(b.store, far)
	if err != nil {
		return err
	}
	sweeper, err := newSweeper(b, remote, cfg, deps.Logger)
	if err != nil {
		return err
	}
	deps.Logger.InfoContext(ctx, "sweeping", "interval", cfg.ReapInterval.String(), "grace", cfg.HandoffGrace.String())
	metrics.Reaper(sweeper.Total)
	metrics.Installation(installation(b, deps.Logger))
	server := &admin{program: "reaper", rdb: b.rdb, facts: b.facts, metrics: metrics.Handler()}
	return together(ctx,
		func(ctx context.Context) error { return server.run(ctx, cfg.AdminAddr, deps.Logger) },
		func(ctx context.Context) error { return nothingToRead(ctx, deps.Again, deps.Logger) },
		sweeper.Run,
	)
}

// newSweeper makes the reaper, which cleans up after remote runs and after delegations.
func newSweeper(b *base, remote reaper.Cleaner, cfg config.Reaper, logger *slog.Logger) (*reaper.Reaper, error) {
	broker, err := newBroker(b.rdb, cfg.Delegation, logger)
	if err != nil {
		return nil, err
	}
	return reaper.New(b.store, b.tasks, reaper.Config{
		Interval: cfg.ReapInterval, Grace: cfg.HandoffGrace, Cleaner: cleaners{remote, revoker{broker}}, Logger: logger,
	})
}
