package bench

import "context"

// throughput is steps per second beside raw chains, and what a step costs.
func throughput(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Steps, and what one costs"}
	sides := []side{
		env.side(plainChain, env.main, 1), env.side(rawChain, env.main, 1), env.side(sixChain, env.main, 1),
	}
	const raw = 1
	chains := len(sides)
	for _, n := range env.nodesBuilt(&r) {
		s := env.side(pawl, env.main, n)
		s.processes = env.cfg.Workers
		sides = append(sides, s)
	}
	err := env.compare(ctx, sides, func(round []Window) {
		for i := range round {
			r.add(sides[i].name+": steps", "1/s", round[i].perSecond(round[i].Steps))
		}
		for i := chains; i < len(round); i++ {
			addPawl(&r, sides[i].name, &round[i], &round[raw], &round[0])
		}
		for i := range round {
			addCosts(&r, sides[i].name, &round[i])
		}
	})
	judge(&r, 1, 0.55, 0.11)
	judge(&r, 8, 1.3, 0.27)
	r.Notes = append(r.Notes,
		"Plain: Asynq's own client and server, one queue. Raw: the same behind Pawl's queue client and server, so that no "+
			"hand-off waits for a poll; with one queue, and with the six that a worker serves.",
		"Submissions that replace ended executions are part of Pawl's figures.")
	return r, err
}

// judge sets the goals of one setting of NodesPerTask. They are held against plain Asynq: what is gained in Pawl's own
// queue client and server makes the raw chain faster too, and would count against Pawl.
func judge(r *Result, nodes int, steps, turns float64) {
	name := Spec{Kind: pawl, NodesPerTask: nodes}.name()
	with := "with " + plural(nodes, "node") + " per task"
	r.goal(name+": steps, of plain", atLeast(steps), "steps/s "+with+", of those of a plain Asynq chain")
	r.goal(name+": turns, of plain steps", atLeast(turns), "agent turns/s "+with+", of a plain Asynq chain's steps/s")
}

func addPawl(r *Result, name string, w, raw, plain *Window) {
	r.add(name+": turns", "1/s", w.perSecond(w.Turns))
	r.add(name+": steps, of raw", "×", ratio(w.perSecond(w.Steps), raw.perSecond(raw.Steps)))
	r.add(name+": turns, of raw steps", "×", ratio(w.perSecond(w.Turns), raw.perSecond(raw.Steps)))
	r.add(name+": steps, of plain", "×", ratio(w.perSecond(w.Steps), plain.perSecond(plain.Steps)))
	r.add(name+": turns, of plain steps", "×", ratio(w.perSecond(w.Turns), plain.perSecond(plain.Steps)))
}

// addCosts notes what a step of a load costs.
func addCosts(r *Result, name string, w *Window) {
	r.add(name+": CPU of processes per 1,000 steps", "s", w.perStep(w.CPU.Seconds()*1000))
	r.add(name+": CPU of Redis per 1,000 steps", "s", w.perStep(w.Site.CPU.Seconds()*1000))
	if w.Busy > 0 {
		r.add(name+": slots at work", "", w.Busy/w.Seconds)
	}
	r.add(name+": round trips per step", "", w.perStep(float64(w.Trips)))
	r.add(name+": commands per step", "", w.perStep(float64(w.Commands)))
	r.add(name+": bytes sent to Redis per step", "B", w.perStep(float64(w.Site.NetIn)))
	if w.Site.AOF > 0 {
		r.add(name+": bytes of append-only file per step", "B", w.perStep(float64(w.Site.AOF)))
	}
	r.add(name+": allocations per step", "", w.perStep(float64(w.Mallocs)))
	r.add(name+": bytes allocated per step", "B", w.perStep(float64(w.AllocBytes)))
}
