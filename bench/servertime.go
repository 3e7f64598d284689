package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// serverTime is how long Redis itself is busy with each kind of call of a step, by its slow log with the bound at zero.
func serverTime(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Time inside Redis for a step"}
	if !env.main.own() {
		r.Notes = append(r.Notes, "Not measured: settings of a Redis that was given stay as they are.")
		r.add("calls seen", "", 0)
		return r, nil
	}
	for range env.cfg.Pairs {
		if err := env.logged(ctx, &r); err != nil {
			return r, err
		}
	}
	r.Notes = append(r.Notes, "Execution of the commands alone: without reading, parsing and answering. Calls that took less "+
		"than the clock shows count as nothing. The last 50,000 calls of each run.")
	return r, nil
}

const slowLogLength = 50_000

func (e *Env) logged(ctx context.Context, r *Result) error {
	node := e.main.nodes[0]
	if err := e.main.empty(ctx); err != nil {
		return err
	}
	spec := e.spec(pawl, e.main)
	spec.Detailed = true
	l, err := startPawl(ctx, spec)
	if err != nil {
		return err
	}
	err = errors.Join(wait(ctx, e.cfg.Warmup),
		e.main.configure(ctx, "slowlog-max-len", fmt.Sprint(slowLogLength), "slowlog-log-slower-than", "0"))
	steps := l.tally.steps.Load()
	if err == nil {
		err = wait(ctx, min(e.cfg.Duration, 3*time.Second))
	}
	steps = l.tally.steps.Load() - steps
	err = errors.Join(err, e.main.configure(context.WithoutCancel(ctx), "slowlog-log-slower-than", "-1"))
	entries, errLog := node.SlowLogGet(ctx, -1).Result()
	err = errors.Join(err, errLog, node.Do(ctx, "slowlog", "reset").Err(), l.Close(ctx))
	if err != nil {
		return err
	}
	addServerTime(r, entries, l.meter.scriptNames(), steps)
	return nil
}

// callTime is what Redis spent on one kind of call.
type callTime struct {
	calls int
	took  time.Duration
}

func addServerTime(r *Result, entries []redis.SlowLog, scripts map[string]string, steps int64) {
	kinds := map[string]callTime{}
	commits := 0
	for _, entry := range entries {
		if len(entry.Args) == 0 {
			continue
		}
		name := strings.ToLower(entry.Args[0])
		if name == "evalsha" && len(entry.Args) > 1 {
			name = "script " + scripts[entry.Args[1]]
		}
		k := kinds[name]
		k.calls++
		k.took += entry.Duration
		kinds[name] = k
		if name == "script commit" {
			commits++
		}
	}
	seen := int64(commits) // steps that the log covers: it may hold less than the window
	if seen == 0 {
		seen = max(1, steps)
	}
	var all time.Duration
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		all += k.took
		if k.calls*50 < int(seen) {
			continue // what happens by the clock
		}
		r.add(name+": each", "µs", float64(k.took.Microseconds())/float64(k.calls))
		r.add(name+": per step", "µs", float64(k.took.Microseconds())/float64(seen))
	}
	r.add("all: per step", "µs", float64(all.Microseconds())/float64(seen))
}
