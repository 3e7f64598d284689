package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/redisconn"
	"github.com/pawl-run/pawl/internal/version"
)

// measurement is a Measure by name.
type measurement struct {
	name string
	run  Measure
}

// mains are run unless Config.Only says otherwise, in this order.
func mains() []measurement {
	return []measurement{
		{"throughput", throughput},
		{"handoff", handoff},
		{"trips", trips},
		{"server", serverTime},
		{"submit", submitRate},
		{"memory", memory},
	}
}

// sweeps are run when Config.Sweeps names them.
func sweeps() []measurement {
	return []measurement{
		{"history", historySweep},
		{"stored", storedSweep},
		{"workers", workersSweep},
		{"cluster", clusterSweep},
		{"aof", aofSweep},
		{"delay", delaySweep},
		{"backlog", backlogSweep},
	}
}

func names(all []measurement) []string {
	var out []string
	for _, m := range all {
		out = append(out, m.name)
	}
	return out
}

// Mains are the names of the main measurements.
func Mains() []string { return names(mains()) }

// Sweeps are the names of the sweeps.
func Sweeps() []string { return names(sweeps()) }

// Report is what a run found.
type Report struct {
	Began       time.Time       `json:"began"`
	Took        time.Duration   `json:"tookNs"`
	Build       version.Build   `json:"build"`
	CPUs        int             `json:"cpus"`
	Load        string          `json:"loadAverage"` // of the machine when the run began; other work makes figures worse
	Redis       redisconn.Facts `json:"redis"`
	Pairs       int             `json:"pairs"`
	Duration    time.Duration   `json:"durationNs"`
	Concurrency int             `json:"concurrency"`
	Chains      int             `json:"chains"`
	Turns       int             `json:"turns"`
	ResultBytes int             `json:"resultBytes"`
	Results     []Result        `json:"results"`
}

// Run measures. A measurement that fails does not keep the others from being made; what they found comes with the error.
func Run(ctx context.Context, cfg Config) (report Report, err error) {
	if cfg, err = cfg.withDefaults(); err != nil {
		return Report{}, err
	}
	env, err := newEnv(ctx, cfg)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, env.close(ctx)) }()
	report, err = env.report(ctx)
	if err != nil {
		return report, err
	}
	todo := chosenOf(cfg)
	var errs []error
	for i, m := range todo {
		env.say("%s (%d of %d)", m.name, i+1, len(todo))
		if err := env.measure(ctx, m, &report); err != nil {
			errs = append(errs, err)
			env.say("  %v", err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return report, errors.Join(errs...)
}

// measure runs one measurement and adds what it found to the report.
func (e *Env) measure(ctx context.Context, m measurement, report *Report) error {
	began, load := time.Now(), loadAverage()
	result, err := m.run(ctx, e)
	if err != nil {
		return fmt.Errorf("bench: measure %s: %w", m.name, err)
	}
	result.Name, result.Began, result.Took, result.Load = m.name, began, time.Since(began), load
	result.Revision, result.Pairs = report.revision(), e.cfg.Pairs
	report.Results = append(report.Results, result)
	report.Took = time.Since(report.Began)
	if e.cfg.Each == nil {
		return nil
	}
	return e.cfg.Each(report)
}

func chosenOf(cfg Config) []measurement {
	var out []measurement
	for _, m := range mains() {
		if len(cfg.Only) == 0 || slices.Contains(cfg.Only, m.name) {
			out = append(out, m)
		}
	}
	for _, m := range sweeps() {
		if slices.Contains(cfg.Sweeps, m.name) || slices.Contains(cfg.Only, m.name) {
			out = append(out, m)
		}
	}
	return out
}
