package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/heap"
	"github.com/pawl-run/pawl/internal/onetrip"
	"github.com/pawl-run/pawl/internal/telemetry"
	"github.com/pawl-run/pawl/queue"
)

const (
	// releaseGrace is how long, beyond the drain time, a stopping worker gives its steps to be handed back.
	releaseGrace = 10 * time.Second
	// leaveTimeout is how long the queue waits for runners that the drain has ended.
	leaveTimeout = 5 * time.Second
)

// RunWorker runs steps until ctx ends, and then drains.
func RunWorker(ctx context.Context, cfg config.Worker, deps Deps) error {
	defer heap.Floor()()
	deps = deps.withDefaults()
	b, err := newBase(ctx, redisConfig{
		url: cfg.RedisURL.Reveal(), strict: cfg.Strict, concurrency: cfg.Concurrency, program: "worker",
	}, cfg.Journal, deps)
	if err != nil {
		return err
	}
	defer b.close(context.WithoutCancel(ctx), deps.Logger)
	deps.Metrics = deps.measures("worker")
	far, err := newOutside(deps.Metrics, deps.Logger)
	if err != nil {
		return err
	}
	defer far.close()
	tracing, err := deps.tracing(ctx, "worker")
	if err != nil {
		return err
	}
	defer tracing.Close(ctx, deps.Logger)
	w, err := newWorker(b, far, tracing.Tracer(), cfg, deps) //nolint:contextcheck // the queue works until Shutdown, beyond ctx
	if err != nil {
		return err
	}
	deps.Logger.InfoContext(ctx, "working", "worker", w.runner.Worker(), "concurrency", cfg.Concurrency,
		"claimTTL", cfg.ClaimTTL.String(), "queues", w.queues)
	if !slices.Contains(w.queues, execution.SuspectQueue) {
		deps.Logger.WarnContext(ctx, "steps that were reclaimed before wait for a worker that serves the queue suspect; "+
			"this one does not")
	}
	return w.runBeside(ctx, b, cfg, deps)
}

// runBeside works, and answers and tells of itself meanwhile.
func (w *worker) runBeside(ctx context.Context, b *base, cfg config.Worker, deps Deps) error {
	host, _ := os.Hostname() // empty: it does not say
	presence, err := queue.NewPresence(b.rdb, queue.PresenceConfig{
		ID: string(w.runner.Worker()), Queues: w.queues, Concurrency: cfg.Concurrency, Holding: w.runner.Holding,
		Tally: w.tally, Logger: deps.Logger, Host: host, PID: os.Getpid(),
	})
	if err != nil {
		return err
	}
	server := &admin{program: "worker", rdb: b.rdb, facts: b.facts, metrics: w.metrics.Handler()}
	// The admin server answers until the drain is over: a probe must not kill a worker that is finishing its steps.
	adminCtx, endAdmin := context.WithCancel(context.WithoutCancel(ctx))
	defer endAdmin()
	return together(ctx,
		func(ctx context.Context) error {
			defer endAdmin()
			return w.run(ctx, func() {
				server.stopping.Store(true)
				presence.Drain()
			})
		},
		func(context.Context) error {
			presence.Run(adminCtx)
			return nil
		},
		func(context.Context) error { return server.run(adminCtx, cfg.AdminAddr, deps.Logger) },
		func(context.Context) error { return nothingToRead(adminCtx, deps.Again, deps.Logger) },
	)
}

// worker is a runner of steps and the queue that calls it.
type worker struct {
	runner *executor.Durable
	server *queue.Server
	queues []string
	drain  time.Duration
	logger *slog.Logger

	metrics *telemetry.Metrics
	tally   *queue.Tally
}

func newWorker(b *base, far *outside, tracer trace.Tracer, cfg config.Worker, deps Deps) (*worker, error) {
	w := &worker{drain: cfg.DrainTimeout, logger: deps.Logger, metrics: deps.Metrics, tally: queue.NewTally()}
	kits, err := newKits(far, w.metrics, depthOf(cfg.MaxDepth))
	if err != nil {
		return nil, err
	}
	broker, err := newBroker(b.rdb, cfg.Delegation, deps.Logger)
	if err != nil {
		return nil, err
	}
	w.runner, err = executor.NewDurable(executor.Config{
		Store: b.store, Builder: kits, MaxDepth: depthOf(cfg.MaxDepth), Observer: tallying{w.metrics.Work(), w.tally},
		Tracer: tracer, Enqueuer: b.tasks, Remotes: far.remotes, Delegations: tokens(broker),
		Pipeline: onetrip.New(b.rdb, b.store, b.tasks), ClaimTTL: cfg.ClaimTTL, MaxReclaims: cfg.MaxReclaims,
		DrainTimeout: cfg.DrainTimeout, NodesPerTask: cfg.NodesPerTask, Logger: deps.Logger,
	})
	if err != nil {
		return nil, err
	}
	weights, suspect := servedQueues(cfg.Queues)
	w.queues = slices.Collect(maps.Keys(weights))
	if suspect {
		w.queues = append(w.queues, execution.SuspectQueue)
	}
	slices.Sort(w.queues)
	w.server, err = queue.NewServer(b.rdb, w.runner, queue.ServerConfig{
		Queues: weights, NoSuspect: !suspect, Concurrency: cfg.Concurrency, DrainTimeout: leaveTimeout,
		Waker: deps.Waker, Gather: b.store.Gather(), Waited: tallyWaits(w.metrics.Waits(), w.tally), Logger: deps.Logger,
	})
	if err != nil {
		return nil, err
	}
	w.metrics.Slots(cfg.Concurrency, w.server.Stats)
	w.metrics.Unplaced(w.runner.Unplaced)
	return w, nil
}

// servedQueues are the queues to serve with their weights, and whether suspect steps are served. No names are all of
// them. A name stands for the queue of started executions and for that of new ones; Pawl's own keep their weights.
func servedQueues(names []string) (weights map[string]int, suspect bool) {
	defaults := queue.DefaultQueues()
	if len(names) == 0 {
		return defaults, true
	}
	weights = make(map[string]int)
	for _, name := range names {
		if name == execution.SuspectQueue {
			suspect = true
			continue
		}
		name = strings.TrimSuffix(name, execution.NewSuffix)
		for _, served := range []string{name, name + execution.NewSuffix} {
			weight, own := defaults[served]
			if !own {
				weight = defaults[strings.Replace(served, name, execution.Normal.Queue(), 1)]
			}
			weights[served] = weight
		}
	}
	return weights, suspect
}

// run works until ctx ends, then stops in order: no new tasks, drain, release, leave.
func (w *worker) run(ctx context.Context, stopping func()) error {
	// Cancels must reach the steps also while they drain.
	watchCtx, endWatch := context.WithCancel(context.WithoutCancel(ctx))
	var watchErr error
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watchErr = w.runner.Watch(watchCtx)
	}()
	defer func() {
		endWatch()
		<-watched
	}()
	if err := w.server.Start(); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	select {
	case <-ctx.Done():
	case <-watched: // only when it cannot go on
	}
	stopping()
	w.leave(ctx)
	endWatch()
	<-watched
	if errors.Is(watchErr, context.Canceled) {
		return nil
	}
	return watchErr
}

// leave takes no new steps, drains those at work, and hands back what is left.
func (w *worker) leave(ctx context.Context) {
	w.logger.InfoContext(ctx, "stopping: no new steps; those at work have the drain time", "drain", w.drain.String())
	began := time.Now()
	w.server.Stop()
	w.drainSteps(ctx)
	w.server.Shutdown()
	tasks := w.server.Stats()
	w.logger.InfoContext(ctx, "drained", "took", time.Since(began).Round(time.Millisecond).String(),
		"done", tasks.Done, "failed", tasks.Failed, "putBack", tasks.PutBack, "stillRunning", tasks.Running,
		"unplaced", w.runner.Unplaced())
}

// drainSteps gives the steps their time. What does not return is reclaimed by others when its claim runs out.
func (w *worker) drainSteps(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.drain+releaseGrace)
	defer cancel()
	if err := w.runner.Drain(ctx); err != nil {
		w.logger.WarnContext(ctx, "some steps did not end; their claims run out", "error", err)
	}
}
