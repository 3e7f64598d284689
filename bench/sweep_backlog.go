package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/execution"
)

const (
	backlogTurns = 3 // 20 steps
	backlogTool  = 20 * time.Millisecond
)

// backlogSweep is how long an execution of 20 steps takes from its start to its end while thousands wait to start.
func backlogSweep(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Executions of 20 steps with a tool of 20 ms"}
	few := max(1, env.cfg.Concurrency/5)
	for pair := range env.cfg.Pairs {
		without, err := env.durations(ctx, few, few)
		if err != nil {
			return r, err
		}
		with, err := env.durations(ctx, env.cfg.Queued, 0)
		if err != nil {
			return r, err
		}
		env.say("  %d/%d  %.0f ms alone, %.0f ms with %d queued", pair+1, env.cfg.Pairs, median(without), median(with), env.cfg.Queued)
		r.add(fmt.Sprintf("%d at once: median", few), "ms", median(without))
		r.add(fmt.Sprintf("%d queued: median", env.cfg.Queued), "ms", median(with))
		r.add(fmt.Sprintf("%d queued: p99", env.cfg.Queued), "ms", quantile(with, 0.99))
		r.add("with a backlog, of without", "×", ratio(median(with), median(without)))
	}
	r.goal("with a backlog, of without", atMost(1.2))
	return r, nil
}

// durations submits n executions and measures those that end within the configured time, from start to end. With feed,
// another one follows each that ends.
func (e *Env) durations(ctx context.Context, n, feed int) (samples []float64, err error) {
	if err := e.main.empty(ctx); err != nil {
		return nil, err
	}
	spec := e.spec(pawl, e.main)
	spec.Chains, spec.Turns, spec.ToolDelay = 0, backlogTurns, backlogTool
	if err := e.queueUp(ctx, spec, n); err != nil {
		return nil, err
	}
	l, err := startPawl(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	var ended []execution.ID
	timer := time.NewTimer(e.cfg.Warmup + e.cfg.Duration)
	defer timer.Stop()
	for running := true; running || len(ended) == 0; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			running = false
		case id := <-l.ends:
			ended = append(ended, id)
			if feed > 0 {
				if _, err := l.submit(ctx, toolAgent); err != nil {
					return nil, err
				}
			}
		}
	}
	for _, id := range ended {
		row, err := l.store.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		samples = append(samples, float64(row.EndedAtMs-row.StartedAtMs))
	}
	return samples, nil
}

// queueUp submits n executions while no worker runs.
func (e *Env) queueUp(ctx context.Context, spec Spec, n int) error {
	l, err := prepare(spec)
	if err != nil {
		return err
	}
	for range n {
		if _, err = l.submit(ctx, toolAgent); err != nil {
			break
		}
	}
	return errors.Join(err, l.leave())
}
