package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/bench"
)

const benchHelp = `Measure what Pawl costs beside a raw Asynq chain, on the same Redis in the same run. Nothing leaves this machine.

Without --redis it starts a redis-server or valkey-server that it finds on PATH. A Redis that is named must be empty: it is emptied between
measurements. Figures are medians over pairs whose sides take turns; judge the ratios, and run nothing else meanwhile.`

// workerCommand is what `pawl bench` starts other processes of itself with.
const workerCommand = "bench-worker"

// measuring is what the flags say.
type measuring struct {
	cfg                bench.Config
	quick, json, check bool
	document           string
}

func newBench(s streams) *cobra.Command {
	var asked measuring
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure steps, latency and cost beside a raw Asynq chain", Args: cobra.NoArgs,
		Long: benchHelp,
		Example: asTyped(self(), `  pawl bench
  pawl bench --only throughput --pairs 10
  pawl bench --sweep history,stored --stored 10,100000,1000000`),
		RunE: func(cmd *cobra.Command, _ []string) error { return asked.run(cmd.Context(), s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&asked.cfg.RedisURL, "redis", "", "an empty Redis to measure on, redis://host:port (default: one of its own)")
	flags.IntVar(&asked.cfg.Pairs, "pairs", 5, "how often each side of a comparison runs")
	flags.DurationVar(&asked.cfg.Duration, "duration", 5*time.Second, "how long each load is measured")
	flags.DurationVar(&asked.cfg.Warmup, "warmup", time.Second, "how long each load runs before it is measured")
	flags.IntVar(&asked.cfg.Concurrency, "concurrency", 50, "steps at once, over all processes")
	flags.IntVar(&asked.cfg.Chains, "chains", 0, "executions under way at once (default twice the concurrency)")
	flags.IntVar(&asked.cfg.Turns, "turns", 10, "turns with a tool call of an execution")
	flags.IntVar(&asked.cfg.ResultBytes, "result-bytes", 1024, "size of a tool's result")
	flags.IntVar(&asked.cfg.Workers, "workers", 0, "worker processes of the main measurement (0: this process)")
	flags.IntSliceVar(&asked.cfg.NodesPerTask, "nodes-per-task", []int{1, 8}, "settings of PAWL_NODES_PER_TASK to compare")
	flags.StringSliceVar(&asked.cfg.Only, "only", nil, "measurements to run, sweeps included: "+strings.Join(bench.Mains(), ", ")+"; or none (default all)")
	flags.StringSliceVar(&asked.cfg.Sweeps, "sweep", nil, "sweeps to run as well: "+strings.Join(bench.Sweeps(), ", ")+"; or all")
	flags.IntSliceVar(&asked.cfg.Stored, "stored", []int{10, 100_000}, "stored executions of the sweep stored")
	flags.IntVar(&asked.cfg.Finished, "finished", 10_000, "executions that the measurement of memory finishes")
	flags.IntVar(&asked.cfg.History, "history", 1000, "messages that are many in the sweep history")
	flags.IntVar(&asked.cfg.Queued, "queued", 10_000, "executions that wait in the sweep backlog")
	flags.StringVar(&asked.cfg.Profile, "profile", "", "write CPU profiles of this process into the folder `DIR`")
	flags.BoolVar(&asked.quick, "quick", false, "the smallest run that touches everything; its figures mean nothing")
	flags.BoolVar(&asked.json, "json", false, "print JSON with every sample")
	flags.BoolVar(&asked.check, "check", false, "exit 1 when a goal was measured and missed")
	flags.StringVar(&asked.document, "write", "",
		"after each measurement, put the figures into the Markdown `FILE`, a picture and all samples beside it; others stay")
	return cmd
}

// run measures and prints. What was measured before an error is printed, too.
func (a *measuring) run(ctx context.Context, s streams) error {
	cfg := a.cfg
	if a.quick {
		cfg = bench.Quick(cfg)
	}
	if slices.Equal(cfg.Sweeps, []string{"all"}) {
		cfg.Sweeps = bench.Sweeps()
	}
	cfg.Progress = s.err
	cfg.Worker = benchWorkerProcess
	if err := cfg.Check(); err != nil {
		return wrongUsage("%w", err)
	}
	if a.document != "" {
		if err := bench.CheckDocument(a.document); err != nil {
			return wrongUsage("%w", err)
		}
		cfg.Each = func(report *bench.Report) error { return report.WriteDocument(a.document, benchCommand()) }
	}
	report, err := bench.Run(ctx, cfg)
	if len(report.Results) > 0 {
		err = errors.Join(err, a.print(s, &report))
	}
	if errors.Is(err, context.Canceled) {
		return &exit{code: exitInterrupted}
	}
	if err != nil {
		return &exit{code: exitFailed, err: err}
	}
	if missed := report.Missed(); a.check && len(missed) > 0 {
		return &exit{code: exitFailed, err: fmt.Errorf("goals missed:\n%s", strings.Join(missed, "\n"))}
	}
	return nil
}

func (a *measuring) print(s streams, report *bench.Report) error {
	if !a.json {
		return report.Table(s.out)
	}
	encoder := json.NewEncoder(s.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// benchCommand is the command line as a person types it.
func benchCommand() string {
	return strings.Join(append([]string{self()}, os.Args[1:]...), " ")
}

// benchWorkerProcess is another process of this program.
func benchWorkerProcess() *exec.Cmd {
	cmd := exec.Command(os.Args[0], workerCommand)
	if path, err := os.Executable(); err == nil {
		cmd.Path = path
	}
	cmd.Stderr = os.Stderr
	return cmd
}

func newBenchWorker(s streams) *cobra.Command {
	return &cobra.Command{
		Use: workerCommand, Hidden: true, Args: cobra.NoArgs, Short: "A worker process of the comparison",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := bench.Worker(cmd.Context(), s.in, s.out); err != nil {
				return &exit{code: exitFailed, err: fmt.Errorf("worker process: %w", err)}
			}
			return nil
		},
	}
}
