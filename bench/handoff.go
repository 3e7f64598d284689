package bench

import (
	"context"
	"errors"
	"fmt"
)

// handoff is how long a step waits for its worker: from the beginning of the enqueue to the first line of the runner, of
// one execution alone and with half of the slots at work.
func handoff(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Hand-off between steps"}
	half := max(1, env.cfg.Concurrency/2)
	loads := []struct {
		name   string
		k      kind
		chains int
	}{
		{"raw chain alone", rawChain, 1},
		{"execution alone", pawl, 1},
		{fmt.Sprintf("%d raw chains", half), rawChain, half},
		{fmt.Sprintf("%d executions", half), pawl, half},
	}
	for pair := range env.cfg.Pairs {
		for _, l := range loads {
			spec := env.spec(l.k, env.main)
			spec.Chains, spec.Handoffs = l.chains, true
			samples, err := env.handoffs(ctx, env.main, spec)
			if err != nil {
				return r, err
			}
			env.say("  %d/%d  %-34s %6d hand-offs, p50 %.3f ms", pair+1, env.cfg.Pairs, l.name, len(samples), median(samples))
			r.add(l.name+": p50", "ms", median(samples))
			r.add(l.name+": p99", "ms", quantile(samples, 0.99))
		}
	}
	r.goal("execution alone: p50", atMost(0.4), "one execution alone: hand-off p50")
	r.goal("execution alone: p99", atMost(2), "one execution alone: hand-off p99")
	r.Notes = append(r.Notes, "From the beginning of the enqueue to the runner's first line, worker and enqueuer in one process.")
	return r, nil
}

// handoffs runs a load in this process and collects its hand-offs.
func (e *Env) handoffs(ctx context.Context, at *site, spec Spec) ([]float64, error) {
	if err := at.empty(ctx); err != nil {
		return nil, err
	}
	work, err := spec.start(ctx)
	if err != nil {
		return nil, err
	}
	var taken *handoffs
	switch l := work.(type) {
	case *rawLoad:
		taken = l.handoffs
	case *pawlLoad:
		taken = l.handoffs
	}
	err = wait(ctx, e.cfg.Warmup)
	taken.take()
	if err == nil {
		err = wait(ctx, e.cfg.Duration)
	}
	samples := taken.take()
	return samples, errors.Join(err, work.Close(ctx))
}
