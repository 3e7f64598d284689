package reaper

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Run repeats passes until ctx ends, and returns nil then. Beside them it repairs the queue and, with a Cleaner, cleans up: what
// takes long, or hangs, delays no recovery. Errors are logged and counted; they never end it. What an unfinished pass leaves
// behind stays due for the next reaper.
func (r *Reaper) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	beside.Go(func() { r.repairAll(ctx) })
	if r.cfg.Cleaner != nil {
		beside.Go(func() { r.clean(ctx) })
	}
	r.sweepAll(ctx)
	beside.Wait()
	return nil
}

// clean cleans up until ctx ends.
func (r *Reaper) clean(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		_, err := r.Clean(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && !failing:
			r.cfg.Logger.WarnContext(ctx, "reaper: cleaning up met errors; what is left is tried again", "error", err)
		case err != nil:
			r.cfg.Logger.DebugContext(ctx, "reaper: cleaning up met errors", "error", err)
		case failing:
			r.cfg.Logger.InfoContext(ctx, "reaper: cleaning up is without errors again")
		}
		failing = err != nil
		wait(ctx, r.cfg.Interval)
	}
}

// sweepAll repeats passes until ctx ends.
func (r *Reaper) sweepAll(ctx context.Context) {
	log := &reporter{reaper: r, since: time.Now()}
	for ctx.Err() == nil {
		report, err := r.Pass(ctx)
		if ctx.Err() == nil {
			log.passed(ctx, report, err)
		}
		wait(ctx, r.cfg.Interval)
	}
	log.flush(context.WithoutCancel(ctx))
}

// wait waits for at most d, and for at least three quarters of it: several reapers drift apart, and the bound on recovery
// holds.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d - rand.N(d/4+1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// repairAll repeats repairs of the queue until ctx ends.
func (r *Reaper) repairAll(ctx context.Context) {
	for ctx.Err() == nil {
		r.repair(ctx)
		wait(ctx, r.cfg.RepairInterval)
	}
}

// repair mends the queue, for as long as a pass may take.
func (r *Reaper) repair(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, 2*r.cfg.Budget)
	defer cancel()
	mended, err := r.tasks.Repair(bounded)
	if err != nil && ctx.Err() == nil {
		r.count(Report{Errors: 1})
		r.cfg.Logger.WarnContext(ctx, "reaper: repair of the queue failed", "error", err)
	}
	if mended > 0 {
		r.count(Report{Repaired: int64(mended)})
		r.cfg.Logger.InfoContext(ctx, "reaper: put the queues in order", "mended", mended)
	}
}

// reporter logs passes: each at debug, the first error of a kind of trouble at once, the sum once a minute.
type reporter struct {
	reaper  *Reaper
	since   time.Time
	logged  Report // the total when the last sum was logged
	failing bool
}

func (l *reporter) passed(ctx context.Context, report Report, err error) {
	logger := l.reaper.cfg.Logger
	logger.DebugContext(ctx, "reaper: pass", "report", report)
	switch {
	case err != nil && !l.failing:
		logger.WarnContext(ctx, "reaper: pass met errors; what it could not handle stays due", "error", err)
	case err != nil:
		logger.DebugContext(ctx, "reaper: pass met errors", "error", err)
	case l.failing:
		logger.InfoContext(ctx, "reaper: passes are without errors again")
	}
	l.failing = err != nil
	if time.Since(l.since) >= reportInterval {
		l.flush(ctx)
	}
}

// flush logs what was done since the last time.
func (l *reporter) flush(ctx context.Context) {
	total := l.reaper.Total()
	if done := total.minus(l.logged); !done.Zero() {
		l.reaper.cfg.Logger.InfoContext(ctx, "reaper: since the last report", "report", done)
	}
	l.logged, l.since = total, time.Now()
}
