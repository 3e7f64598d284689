package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/internal/heap"
	"github.com/pawl-run/pawl/internal/onetrip"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/queue"
)

// drainTime is how long a load that is closed waits for what is under way.
const drainTime = 2 * time.Second

// pawlLoad is a worker as it is shipped, and whoever submits to it.
type pawlLoad struct {
	spec     Spec
	rdb      redis.UniversalClient
	meter    *meter
	tally    tally
	handoffs *handoffs
	spans    *spans
	path     *path
	waker    queue.Waker
	store    *meteredStore
	tasks    *meteredTasks
	link     link.RuntimeLink
	runner   *executor.Durable
	server   *queue.Server
	busy     *busyWatch
	heap     func() // lets the heap be as small as it likes again

	ends    chan execution.ID // of executions; the oldest are lost when nobody reads
	all     sync.WaitGroup    // the watch, the feeders
	endWork context.CancelFunc
}

func startPawl(ctx context.Context, spec Spec) (*pawlLoad, error) {
	l, err := prepare(spec)
	if err != nil {
		return nil, err
	}
	if err := l.serve(); err != nil { //nolint:contextcheck // the queue works until Shutdown, beyond ctx
		return nil, errors.Join(err, l.leave())
	}
	if err := l.begin(ctx); err != nil {
		return nil, errors.Join(err, l.Close(ctx))
	}
	return l, nil
}

// prepare makes everything of a load but its worker: for those who only submit.
func prepare(spec Spec) (*pawlLoad, error) {
	rdb, m, err := open(spec)
	if err != nil {
		return nil, err
	}
	l := &pawlLoad{spec: spec, rdb: rdb, meter: m, ends: make(chan execution.ID, 4096), endWork: func() {}, heap: func() {}}
	if spec.Handoffs {
		l.handoffs = &handoffs{}
	}
	if spec.Spans {
		l.spans = newSpans()
	}
	if spec.Path {
		l.path = &path{}
	}
	if err := l.build(); err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return l, nil
}

// leave ends what prepare began.
func (l *pawlLoad) leave() error {
	l.heap()
	return errors.Join(l.store.Close(), l.rdb.Close())
}

// build wires what internal/app wires for a worker and an API, but for the server of the queue.
func (l *pawlLoad) build() error {
	catalog, err := definitions(l.spec)
	if err != nil {
		return err
	}
	builder, err := newBuilder(l.spec)
	if err != nil {
		return err
	}
	store, err := redisjournal.New(l.rdb, redisjournal.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	l.store = &meteredStore{Store: store, meter: l.meter, tally: &l.tally, spans: l.spans, path: l.path, ended: l.noteEnd}
	client, err := queue.NewClient(l.rdb, queue.ClientConfig{Waker: &l.waker, Gather: store.Gather(), Logger: quiet()})
	if err != nil {
		return err
	}
	l.tasks = &meteredTasks{Client: client, meter: l.meter, handoffs: l.handoffs}
	var trip executor.Pipeline
	if one := onetrip.New(l.rdb, store, client); one != nil {
		trip = &meteredTrip{Pipeline: one, store: l.store, tasks: l.tasks}
	}
	l.runner, err = executor.NewDurable(executor.Config{
		Store: l.store, Builder: builder, Enqueuer: l.tasks, Pipeline: trip, DrainTimeout: drainTime,
		NodesPerTask: l.spec.NodesPerTask, Logger: quiet(),
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	service, err := link.New(link.Config{
		Journal: store, Catalog: catalog, Enqueuer: client, Opening: executor.Opening, Boundary: executor.Boundary, Message: executor.Message, Call: executor.LedgerCall,
		Forking: executor.Forking, Logger: quiet(),
	})
	if err != nil {
		return err
	}
	l.link = service.As(execution.LocalAuthority())
	return nil
}

// serve makes the server of the queue, in a process whose heap is that of a worker.
func (l *pawlLoad) serve() (err error) {
	l.heap = heap.Floor()
	l.server, err = queue.NewServer(l.rdb, timedRunner{l.runner, l.handoffs}, queue.ServerConfig{
		Concurrency: l.spec.Concurrency, DrainTimeout: drainTime, Waker: &l.waker, Gather: l.store.Gather(), Logger: quiet(),
	})
	return err
}

// errRefused reports a setting that this build of the executor does not take.
var errRefused = errors.New("the executor refuses the setting")

// timedRunner notes when a task reaches the runner.
type timedRunner struct {
	queue.Runner
	handoffs *handoffs
}

// Run implements queue.Runner.
func (r timedRunner) Run(ctx context.Context, task execution.Task) error {
	if r.handoffs != nil {
		r.handoffs.begun(task.ID())
	}
	return r.Runner.Run(ctx, task)
}

// begin starts the worker and submits. Whenever an execution ends, another one is submitted.
func (l *pawlLoad) begin(ctx context.Context) error {
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	l.endWork = end
	l.busy = watchBusy(func() int64 { return l.server.Stats().Running })
	l.all.Go(func() { _ = l.runner.Watch(work) }) // ends with work
	if err := l.server.Start(); err != nil {
		return err
	}
	for range l.spec.Chains {
		if _, err := l.submit(ctx, l.spec.Agent); err != nil {
			return err
		}
	}
	if l.spec.Chains == 0 && !l.spec.Feed {
		return nil
	}
	const feeders = 4
	for range feeders {
		l.all.Go(func() { l.feed(work) })
	}
	return nil
}

func (l *pawlLoad) feed(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.ends:
		}
		if _, err := l.submit(ctx, l.spec.Agent); err != nil && ctx.Err() == nil {
			l.tally.failures.Add(1)
		}
	}
}

func (l *pawlLoad) submit(ctx context.Context, agent string) (execution.ID, error) {
	created, err := l.link.Create(l.meter.label(ctx, "submit"), "", request(agent))
	if err != nil {
		return "", fmt.Errorf("bench: submit: %w", err)
	}
	return created.View.ID, nil
}

func request(agent string) execution.CreateRequest {
	return execution.CreateRequest{
		Agent: agent, Input: execution.Input{Type: execution.UserMessage, Text: "Oslo, please"},
	}
}

func (l *pawlLoad) noteEnd(id execution.ID) {
	select {
	case l.ends <- id:
	default: // nobody reads
	}
}

// awaitEnd waits until the execution has ended; ends of others are dropped. Only for loads that feed nothing.
func (l *pawlLoad) awaitEnd(ctx context.Context, id execution.ID) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case ended := <-l.ends:
			if ended == id {
				return nil
			}
		}
	}
}

// Snap implements load.
func (l *pawlLoad) Snap(context.Context) (Snap, error) {
	s := readSnap(&l.tally, l.meter)
	s.EmptyRounds, s.Busy = l.server.Stats().EmptyRounds, l.busy.read()
	return s, nil
}

// Close implements load.
func (l *pawlLoad) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*drainTime)
	defer cancel()
	l.server.Stop()
	err := l.runner.Drain(ctx)
	l.server.Shutdown()
	l.endWork()
	l.busy.stop()
	l.all.Wait()
	return errors.Join(err, l.leave())
}
