package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// memory is how many bytes of Redis a finished execution of six nodes keeps, beside what the user gave and got.
func memory(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Memory of a finished execution"}
	for range env.cfg.Pairs {
		kept, own, err := env.finished(ctx, env.cfg.Finished)
		if err != nil {
			return r, err
		}
		r.add("growth of used_memory", "B", kept)
		r.add("request, messages and outcome", "B", own)
		r.add("beside them", "B", kept-own)
	}
	r.goal("beside them", atMost(3000), fmt.Sprintf("growth of used_memory over %s six-node text executions, "+
		"less request, messages and outcome, for each", thousands(int64(env.cfg.Finished))))
	r.Notes = append(r.Notes, fmt.Sprintf("%d executions of six nodes that answer with a text; each begins a conversation. "+
		"Read while no worker runs.", env.cfg.Finished))
	return r, nil
}

// finished runs n executions and returns the growth of memory and the size of what is the user's own, for one.
func (e *Env) finished(ctx context.Context, n int) (kept, own float64, err error) {
	if err := e.main.empty(ctx); err != nil {
		return 0, 0, err
	}
	if _, err := e.finish(ctx, 1); err != nil { // scripts, definitions and indexes are there
		return 0, 0, err
	}
	before, err := e.main.snap(ctx)
	if err != nil {
		return 0, 0, err
	}
	own, err = e.finish(ctx, n)
	if err != nil {
		return 0, 0, err
	}
	after, err := e.main.snap(ctx)
	return float64(after.Used-before.Used) / float64(n), own, err
}

// finish runs n executions to their end and closes the worker.
func (e *Env) finish(ctx context.Context, n int) (own float64, err error) {
	spec := e.spec(pawl, e.main)
	spec.Chains, spec.Agent = 0, textAgent
	l, err := startPawl(ctx, spec)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	var id execution.ID
	for range n {
		if id, err = l.submit(ctx, textAgent); err != nil {
			return 0, err
		}
	}
	deadline, cancel := context.WithTimeout(ctx, time.Minute+time.Duration(n)*10*time.Millisecond)
	defer cancel()
	err = poll(deadline, 20*time.Millisecond, func() (bool, error) { return l.tally.ended.Load() >= int64(n), nil })
	if err != nil {
		return 0, fmt.Errorf("%d of %d executions ended: %w", l.tally.ended.Load(), n, err)
	}
	return l.own(ctx, id)
}

// own is the size of an execution's request, messages and outcome.
func (l *pawlLoad) own(ctx context.Context, id execution.ID) (float64, error) {
	row, err := l.store.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	messages, err := l.store.Messages(ctx, id, 0, 1000)
	if err != nil {
		return 0, err
	}
	request, err := json.Marshal(row.Request)
	if err != nil {
		return 0, err
	}
	outcome, err := json.Marshal(row.Outcome)
	size := len(request) + len(outcome)
	for _, message := range messages {
		size += len(message)
	}
	return float64(size), err
}
