package bench

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/pawl-run/pawl/internal/redisconn"
	"github.com/pawl-run/pawl/internal/version"
)

// report is an empty report with what the run stands on.
func (e *Env) report(ctx context.Context) (Report, error) {
	facts, err := redisconn.Inspect(ctx, e.main.nodes[0])
	return Report{
		Began: e.began, Build: version.Read(), CPUs: runtime.NumCPU(), Load: loadAverage(), Redis: facts,
		Pairs: e.cfg.Pairs, Duration: e.cfg.Duration, Concurrency: e.cfg.Concurrency, Chains: e.cfg.Chains,
		Turns: e.cfg.Turns, ResultBytes: e.cfg.ResultBytes,
	}, err
}

// loadAverage is the machine's, over one minute; empty where it is not known.
func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	average, _, _ := strings.Cut(string(data), " ")
	return average
}
