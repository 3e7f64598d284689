package bench

import (
	"context"
	"errors"
	"fmt"
)

// workersSweep is throughput with 1, 2 and 4 worker processes that share the same concurrency, and what idle ones ask.
func workersSweep(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Worker processes at the same total concurrency"}
	if env.cfg.Worker == nil {
		return r, errors.New("the sweep workers needs Config.Worker")
	}
	counts := []int{1, 2, 4}
	sides := make([]side, len(counts))
	for i, n := range counts {
		sides[i] = env.side(pawl, env.main, 1)
		sides[i].name, sides[i].processes = workerProcesses(n), n
	}
	err := env.compare(ctx, sides, func(round []Window) {
		for i, w := range round {
			r.add(sides[i].name+": steps", "1/s", w.perSecond(w.Steps))
			r.add(sides[i].name+": steps, of one", "×", ratio(w.perSecond(w.Steps), round[0].perSecond(round[0].Steps)))
			r.add(sides[i].name+": CPU of processes per 1,000 steps", "s", w.perStep(w.CPU.Seconds()*1000))
			r.add(sides[i].name+": round trips per step", "", w.perStep(float64(w.Trips)))
		}
	})
	if err != nil {
		return r, err
	}
	const idle = 4
	name := fmt.Sprintf("%d idle: empty rounds of each", idle)
	defer env.briefly()()
	for range env.cfg.Pairs {
		spec := env.spec(pawl, env.main)
		spec.Chains = 0
		w, err := env.run(ctx, env.main, spec, idle)
		if err != nil {
			return r, err
		}
		r.add(name, "1/s", w.perSecond(w.EmptyRounds)/idle)
		r.add(fmt.Sprintf("%d idle: commands of each", idle), "1/s", w.perSecond(w.Commands)/idle)
	}
	r.goal(sides[2].name+": steps, of one", atLeast(0.9), "4 worker processes: steps/s, of 1 at the same total concurrency")
	r.goal(name, atMost(2), fmt.Sprintf("%d idle workers: empty rounds per second of each", idle))
	return r, nil
}

func workerProcesses(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
