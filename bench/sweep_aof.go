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
	r.goal("always: "+Spec{Kind: pawl, NodesPerTask: 8}.name()+": turns, of plain steps", atLeast(0.11),
		"appendfsync always: agent turns/s with 8 nodes per task, of a plain Asynq chain's steps/s")
	return r, nil
}
