package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redisconn"
	"github.com/pawl-run/pawl/queue"
)

// open connects with the product's own options and counts what is sent.
func open(spec Spec) (redis.UniversalClient, *meter, error) {
	rdb, err := redisconn.Open(redisconn.Config{URL: spec.URL, Concurrency: spec.Concurrency, ClientName: "pawl-bench"})
	if err != nil {
		return nil, nil, fmt.Errorf("bench: %w", err)
	}
	m := newMeter(spec.Detailed)
	rdb.AddHook(m)
	return rdb, m, nil
}

// rawLoad is chains of tasks of which each enqueues the next and does nothing else, behind Pawl's queue.
type rawLoad struct {
	rdb      redis.UniversalClient
	meter    *meter
	tally    tally
	tasks    *queue.Client
	server   *queue.Server
	busy     *busyWatch
	handoffs *handoffs
}

func startRaw(ctx context.Context, spec Spec) (load, error) {
	rdb, m, err := open(spec)
	if err != nil {
		return nil, err
	}
	l := &rawLoad{rdb: rdb, meter: m}
	if spec.Handoffs {
		l.handoffs = &handoffs{}
	}
	if err := l.start(ctx, spec); err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return l, nil
}

func (l *rawLoad) start(ctx context.Context, spec Spec) (err error) {
	waker := &queue.Waker{}
	if l.tasks, err = queue.NewClient(l.rdb, queue.ClientConfig{Waker: waker, Logger: quiet()}); err != nil {
		return err
	}
	name := execution.Normal.Queue()
	queues := map[string]int{name: 1}
	if spec.Kind == sixChain {
		queues = queue.DefaultQueues()
	}
	l.server, err = queue.NewServer(l.rdb, l, queue.ServerConfig{ //nolint:contextcheck // it works until Shutdown, beyond ctx
		Queues: queues, NoSuspect: spec.Kind == rawChain, Concurrency: spec.Concurrency, DrainTimeout: drainTime,
		Waker: waker, Logger: quiet(),
	})
	if err != nil {
		return err
	}
	if err := l.server.Start(); err != nil {
		return err
	}
	l.busy = watchBusy(l.running)
	for range spec.Chains {
		task := execution.Task{Execution: execution.NewID(execution.RandomPartition()), Wake: 1, Queue: name}
		if err := l.enqueue(ctx, task); err != nil {
			l.server.Shutdown()
			l.busy.stop()
			return fmt.Errorf("bench: begin a chain: %w", err)
		}
	}
	return nil
}

func (l *rawLoad) running() int64 { return l.server.Stats().Running }

// Run implements queue.Runner.
func (l *rawLoad) Run(ctx context.Context, task execution.Task) error {
	if l.handoffs != nil {
		l.handoffs.begun(task.ID())
	}
	task.Step++
	err := l.enqueue(ctx, task)
	if err != nil {
		l.tally.failures.Add(1)
		return err
	}
	l.tally.steps.Add(1)
	return nil
}

func (l *rawLoad) enqueue(ctx context.Context, task execution.Task) error {
	if l.handoffs != nil {
		l.handoffs.enqueued(task.ID())
	}
	return l.tasks.Enqueue(l.meter.label(ctx, "enqueue"), task)
}

// Snap implements load.
func (l *rawLoad) Snap(context.Context) (Snap, error) {
	s := readSnap(&l.tally, l.meter)
	s.EmptyRounds, s.Busy = l.server.Stats().EmptyRounds, l.busy.read()
	return s, nil
}

// Close implements load.
func (l *rawLoad) Close(context.Context) error {
	l.server.Shutdown()
	l.busy.stop()
	return l.rdb.Close()
}
