package bench

import (
	"context"
	"errors"
)

var errOwn = errors.New("this sweep starts or configures Redis: leave --redis away")

// aofSweep is throughput without an append-only file, and with one that is synced every second and at every write.
func aofSweep(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Append-only file: off, everysec, always"}
	if !env.main.own() {
		return r, errOwn
	}
	defer func() {
		_ = env.main.configure(context.WithoutCancel(ctx), "appendfsync", "everysec", "appendonly", "yes")
	}()
	settings := []struct {
		name   string
		values []string
	}{
		{"off", []string{"appendonly", "no"}},
		{"everysec", []string{"appendfsync", "everysec", "appendonly", "yes"}},
		{"always", []string{"appendfsync", "always", "appendonly", "yes"}},
	}
	built := env.nodesBuilt(&r)
	for _, s := range settings {
		if err := env.main.configure(ctx, s.values...); err != nil {
			return r, err
		}
		if err := env.addRatios(ctx, &r, s.name, env.main, built); err != nil {
			return r, err
		}
	}
	r.goal("always: "+Spec{Kind: pawl, NodesPerTask: 8}.name()+": turns, of raw steps", atLeast(0.11))
	return r, nil
}

// addRatios compares the raw chain with Pawl under one condition.
func (e *Env) addRatios(ctx context.Context, r *Result, condition string, at *site, nodes []int) error {
	sides := []side{e.side(rawChain, at, 1)}
	for _, n := range nodes {
		sides = append(sides, e.side(pawl, at, n))
	}
	return e.compare(ctx, sides, func(round []Window) {
		for i, w := range round {
			name := condition + ": " + sides[i].name
			r.add(name+": steps", "1/s", w.perSecond(w.Steps))
			if i == 0 {
				continue
			}
			r.add(name+": turns", "1/s", w.perSecond(w.Turns))
			r.add(name+": steps, of raw", "×", ratio(w.perSecond(w.Steps), round[0].perSecond(round[0].Steps)))
			r.add(name+": turns, of raw steps", "×", ratio(w.perSecond(w.Turns), round[0].perSecond(round[0].Steps)))
		}
	})
}
