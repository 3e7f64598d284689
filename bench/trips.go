package bench

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// trips is what one execution alone sends to Redis for each step, by purpose.
func trips(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "What one execution alone sends for a step"}
	spec := env.spec(pawl, env.main)
	spec.Chains, spec.Detailed = 1, true
	for range env.cfg.Pairs {
		w, err := env.run(ctx, env.main, spec, 0)
		if err != nil {
			return r, err
		}
		if w.Turns == 0 {
			return r, errors.New("no turn was committed: measure longer")
		}
		receipts := w.Labels["record"].Trips
		beside := receipts + w.Labels["submit"].Trips + w.Labels["publish"].Trips + w.Labels["blpop"].Trips
		r.add("round trips per step", "", w.perStep(float64(w.Trips-beside)))
		r.add("round trips per receipt", "", ratio(float64(receipts), float64(w.Turns)))
		r.add("commands per step", "", w.perStep(float64(w.Commands)))
		for _, name := range slices.Sorted(maps.Keys(w.Labels)) {
			c := w.Labels[name]
			if w.perStep(float64(c.Trips)) < 0.01 {
				continue // what happens by the clock
			}
			r.add(name+": round trips per step", "", w.perStep(float64(c.Trips)))
			if c.Commands > c.Trips {
				r.add(name+": commands per step", "", w.perStep(float64(c.Commands)))
			}
			r.add(name+": bytes of a round trip", "B", float64(c.Bytes)/float64(c.Trips))
			r.add(name+": time of a round trip", "ms", float64(c.Nanos)/float64(c.Trips)/1e6)
		}
	}
	r.goal("round trips per step", atMost(4))
	r.Notes = append(r.Notes,
		"A pipeline is one round trip. The first figure leaves out receipts, frames (publish), the submission, and blpop, which "+
			"waits for wake-ups of other processes. Bytes are those of the arguments.")
	return r, nil
}
