package bench

import (
	"context"
	"errors"
	"maps"
	"math"
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
		var step int64
		for _, name := range []string{"asynq dequeue", "claim", "commit", "commit and enqueue", "enqueue", "asynq done"} {
			step += w.Labels[name].Trips
		}
		// Two digits: the window cuts a step in two at its beginning and at its end.
		r.add("round trips per step", "", math.Round(w.perStep(float64(step))*100)/100)
		r.add("round trips per receipt", "", math.Round(ratio(float64(w.Labels["record"].Trips), float64(w.Turns))*100)/100)
		r.add("all round trips per step", "", w.perStep(float64(w.Trips)))
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
	r.goal("round trips per step", atMost(4), "round trips per step of one execution alone")
	r.goal("round trips per receipt", atMost(1), "round trips per receipt")
	r.Notes = append(r.Notes,
		"A pipeline is one round trip. A step is dequeue, claim, and commit with the enqueue of the next one; its end (done) rides "+
			"along with one of them, or goes by itself. Beside them are receipts, frames (publish), the submission, and what happens "+
			"by the clock. Bytes are those of the arguments.")
	return r, nil
}
