package executor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Store is what Durable needs of the journal.
type Store interface {
	journal.Steps
	// AttachDelegation says in the row that the delegation was renewed.
	AttachDelegation(ctx context.Context, hold journal.Hold, delegation journal.Delegation) (journal.Execution, error)
	// Definition returns a stored definition, or journal.ErrNotFound.
	Definition(ctx context.Context, hash string) ([]byte, error)
	// Events reads the log: what a hook has decided at run_start is said nowhere else.
	Events(ctx context.Context, id execution.ID, after execution.Sequence, limit int) ([]execution.Event, error)
	// Messages reads a page of the history of the execution's conversation.
	Messages(ctx context.Context, id execution.ID, from, limit int) ([][]byte, error)
	// PublishFrame sends a frame to those who follow the execution now, and says how many processes are known to.
	PublishFrame(ctx context.Context, id execution.ID, frame execution.Frame) (listeners int, err error)
	// FollowRequests subscribes to the cancels and pauses recorded for executions that the worker holds.
	FollowRequests(ctx context.Context, worker journal.WorkerID) (journal.RequestSubscription, error)
}

// Enqueuer enqueues tasks. A task that is standing already is no error.
type Enqueuer interface {
	Enqueue(ctx context.Context, tasks ...execution.Task) error
}

// Pipeline commits a step and enqueues the task that will follow it, in this order and in one round trip.
type Pipeline interface {
	// CommitAndEnqueue answers as Store.Commit does, and says whether next stands now. It stands also when the commit was
	// refused, or came to something else than going on: then it is a task like any other late one.
	CommitAndEnqueue(ctx context.Context, commit journal.Commit, next execution.Task) (
		committed journal.Committed, enqueued bool, err error)
}

// Config is what Durable runs on. Store, Builder and Enqueuer are required; the other fields work at zero.
type Config struct {
	Store    Store
	Builder  local.Builder
	Enqueuer Enqueuer

	// Remotes finds the agents that are elsewhere. nil: an execution of one is suspended, with reason unknown_definition.
	Remotes Remotes

	// Pipeline commits and enqueues in one round trip. nil: one after the other.
	Pipeline Pipeline

	// ClaimTTL is how long a claim lasts unless it is renewed. Default 15s, at least 1s.
	ClaimTTL time.Duration
	// MaxReclaims quarantines an execution at the claim that would be one reclaim of its step more. Default 5; negative:
	// no bound.
	MaxReclaims int
	// DrainTimeout is how long Drain lets nodes finish before it cancels them. Default 30s.
	DrainTimeout time.Duration
	// NodesPerTask is how many nodes may run under one claim, 1 to 64. Default 1, each committed by itself. More of them save
	// the queue's part of a step, and boundaries behind which a node only computes are written with the next one. A task ends
	// earlier at a wait, a retry, a drain, a cancel and the end, and 100 ms after its claim, so that executions with many
	// quick nodes leave time to the others.
	NodesPerTask int
	// MaxDepth is how deep agents may call each other. Default 5, at most 64; negative: none may call another.
	MaxDepth int
	// Delegations gives the tokens of delegated calls. nil: there are none.
	Delegations Delegations
	// Hook is asked at every boundary. Default DirectExecutor.
	Hook Executor
	// Tracer makes the spans of nodes. nil: none are made.
	Tracer trace.Tracer
	// Observer is told what happens, for metrics. nil: nobody is.
	Observer Observer
	// Logger gets what operators may want to know. Default slog.Default().
	Logger *slog.Logger
}

// MaxNodesPerTask bounds Config.NodesPerTask.
const MaxNodesPerTask = 64

func (c Config) withDefaults() (Config, error) {
	for _, required := range []struct {
		name    string
		missing bool
	}{{"Store", c.Store == nil}, {"Builder", c.Builder == nil}, {"Enqueuer", c.Enqueuer == nil}} {
		if required.missing {
			return c, fmt.Errorf("executor: %s is required", required.name)
		}
	}
	if c.ClaimTTL == 0 {
		c.ClaimTTL = 15 * time.Second
	}
	if c.ClaimTTL < time.Second {
		return c, fmt.Errorf("executor: ClaimTTL must be at least 1s, is %v", c.ClaimTTL)
	}
	if c.MaxReclaims == 0 {
		c.MaxReclaims = 5
	}
	c.MaxReclaims = max(c.MaxReclaims, 0)
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 30 * time.Second
	}
	if c.DrainTimeout < 0 {
		return c, fmt.Errorf("executor: DrainTimeout must not be negative, is %v", c.DrainTimeout)
	}
	if c.NodesPerTask == 0 {
		c.NodesPerTask = 1
	}
	if c.NodesPerTask < 1 || c.NodesPerTask > MaxNodesPerTask {
		return c, fmt.Errorf("executor: NodesPerTask must be 1 to %d, is %d", MaxNodesPerTask, c.NodesPerTask)
	}
	var err error
	if c.MaxDepth, err = depthOf(c.MaxDepth); err != nil {
		return c, err
	}
	if c.Hook == nil {
		c.Hook = DirectExecutor{}
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// Durable runs one node for each task, or a few: claim, work, commit, enqueue. It satisfies queue.Runner and may run many tasks at
// the same time. Run Watch beside it, and Drain when it is to stop.
type Durable struct {
	cfg         Config           // immutable
	worker      journal.WorkerID // immutable; random per process start, so nobody inherits a claim by a name
	definitions *definitions
	nonces      *nonces
	aheads      *aheads
	histories   *histories
	lanes       *lanes
	lifecycle   *backend.Lifecycle

	unplaced atomic.Int64

	mu       sync.Mutex
	draining bool                 // guarded by mu
	running  int                  // guarded by mu: tasks inside Run
	idle     chan struct{}        // guarded by mu: closed when running falls to 0 while draining
	holders  map[*holder]struct{} // guarded by mu
	armed    bool                 // guarded by mu: claims will be looked through for renewals
}

// NewDurable makes a runner. The error names the field that is wrong.
func NewDurable(cfg Config) (*Durable, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	lifecycle, err := newLifecycle(cfg.Logger)
	if err != nil {
		return nil, err
	}
	return &Durable{
		cfg: cfg, worker: journal.WorkerID(rand.Text()), definitions: newDefinitions(cfg.Store, cfg.Builder, cfg.Remotes),
		lifecycle: lifecycle,
		nonces:    newNonces(), aheads: &aheads{}, histories: newHistories(maxHistoryBytes), lanes: newLanes(jitter),
		idle: make(chan struct{}), holders: map[*holder]struct{}{},
	}, nil
}

// Worker names this runner in claims; it is random per NewDurable.
func (d *Durable) Worker() journal.WorkerID { return d.worker }

// Unplaced counts the tasks that could not be enqueued and were left to the due index.
func (d *Durable) Unplaced() int64 { return d.unplaced.Load() }

// Run runs the next node of the task's execution. nil: the task is done, whatever became of the node. *execution.PutBack:
// the task is wanted again later, by this worker or another. Any other error: the store did not take what happened, and
// its due index will have somebody look.
func (d *Durable) Run(ctx context.Context, task execution.Task) error {
	if !d.enter() {
		return &execution.PutBack{Err: ErrDrained}
	}
	defer d.leave()
	h, err := d.claim(ctx, task)
	if h == nil {
		return err
	}
	return h.run(ctx)
}

// enqueue places tasks after a write. A failure is no error of the step: the due index finds the execution.
func (d *Durable) enqueue(ctx context.Context, tasks []execution.Task) {
	if len(tasks) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enqueueTimeout)
	defer cancel()
	if err := d.cfg.Enqueuer.Enqueue(ctx, tasks...); err != nil {
		d.unplaced.Add(int64(len(tasks)))
		d.cfg.Logger.WarnContext(ctx, "tasks not enqueued, left to the due index",
			"execution", tasks[0].Execution, "step", tasks[0].Step, "tasks", len(tasks), "error", err)
	}
}

// The bounds of single calls. Every wait has one.
const (
	claimTimeout   = time.Second
	attemptTimeout = 2 * time.Second
	enqueueTimeout = 2 * time.Second
	frameTimeout   = 500 * time.Millisecond
	pollInterval   = 500 * time.Millisecond
	pollTimeout    = time.Second
	drainGrace     = 5 * time.Second
	// afterlife is how long a write goes on being repeated after trust has ended: the fence makes it harmless, and what was
	// paid for is not lost to a short outage.
	afterlife = 60 * time.Second
)

// unavailable reports an error after which nobody knows whether the write happened: the very same call is repeated.
func unavailable(err error) bool {
	return errors.Is(err, journal.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}

// repeat makes a call until the store has answered it, or until the moment has passed; at least once.
func repeat(ctx context.Context, until time.Time, call func(ctx context.Context) error) error {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := call(attempt)
		cancel()
		if err == nil || !unavailable(err) || ctx.Err() != nil || !time.Now().Add(pause).Before(until) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}
