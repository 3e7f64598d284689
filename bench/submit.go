package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// submitRate is how many executions per second one process submits, and how long one submission alone takes.
func submitRate(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Submissions"}
	for range env.cfg.Pairs {
		alone, err := env.submissions(ctx, 1)
		if err != nil {
			return r, err
		}
		r.add("one after the other: p50", "ms", median(alone))
		r.add("one after the other: p99", "ms", quantile(alone, 0.99))
		many, err := env.submissions(ctx, env.cfg.Concurrency)
		if err != nil {
			return r, err
		}
		r.add(fmt.Sprintf("%d at once", env.cfg.Concurrency), "1/s", float64(len(many))/env.cfg.Duration.Seconds())
		r.add(fmt.Sprintf("%d at once: p99", env.cfg.Concurrency), "ms", quantile(many, 0.99))
	}
	r.Notes = append(r.Notes, "Through the link that the API serves, without HTTP, while no worker runs.")
	return r, nil
}

// submissions submits from so many goroutines for the configured time; the samples are milliseconds.
func (e *Env) submissions(ctx context.Context, at int) ([]float64, error) {
	if err := e.main.empty(ctx); err != nil {
		return nil, err
	}
	l, err := prepare(e.spec(pawl, e.main))
	if err != nil {
		return nil, err
	}
	var (
		mu      sync.Mutex
		samples []float64
		failed  atomic.Pointer[error]
		all     sync.WaitGroup
	)
	until := time.Now().Add(e.cfg.Duration)
	for range at {
		all.Go(func() {
			var mine []float64
			for time.Now().Before(until) {
				began := time.Now()
				if _, err := l.submit(ctx, textAgent); err != nil {
					failed.Store(&err)
					break
				}
				mine = append(mine, millis(time.Since(began)))
			}
			mu.Lock()
			defer mu.Unlock()
			samples = append(samples, mine...)
		})
	}
	all.Wait()
	err = l.leave()
	if first := failed.Load(); first != nil {
		err = errors.Join(*first, err)
	}
	return samples, err
}
