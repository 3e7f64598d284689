package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// DirectConfig is what Direct runs on. Builder is required.
type DirectConfig struct {
	Builder local.Builder
	// Remotes finds the agents that are elsewhere. nil: a run of one is an error.
	Remotes Remotes
	// Agents finds the agents that runs may call. nil: they may call none.
	Agents local.AgentFinder
	// MaxDepth: see Config.
	MaxDepth int
	// Hook is asked at every boundary. Default DirectExecutor.
	Hook Executor
	// Sink receives what is transient. Default: nowhere.
	Sink local.Sink
}

// Direct runs whole executions in process, on the same machine as Durable, and keeps nothing: a crash loses the run.
type Direct struct {
	cfg       DirectConfig // immutable
	lanes     *lanes
	lifecycle *backend.Lifecycle
}

// NewDirect makes a runner. The error names the field that is wrong.
func NewDirect(cfg DirectConfig) (*Direct, error) {
	if cfg.Builder == nil {
		return nil, errors.New("executor: Builder is required")
	}
	if cfg.Hook == nil {
		cfg.Hook = DirectExecutor{}
	}
	var err error
	if cfg.MaxDepth, err = depthOf(cfg.MaxDepth); err != nil {
		return nil, err
	}
	if cfg.Sink == nil {
		cfg.Sink = nowhere{}
	}
	lifecycle, err := newLifecycle(slog.Default())
	if err != nil {
		return nil, err
	}
	return &Direct{cfg: cfg, lanes: newLanes(jitter), lifecycle: lifecycle}, nil
}

// Result is how a direct run ended. Exactly one of Outcome, Failure, Suspension and Interaction is set: nothing in process
// can resume a run or answer for a person, so a run that needs it ends there.
type Result struct {
	Outcome     *execution.Outcome
	Failure     *execution.Failure
	Suspension  *execution.Suspension
	Interaction *execution.Interaction
	// Checkpoint is the last one; Messages is the whole history.
	Checkpoint Checkpoint
	Messages   []execution.Message
	// Blobs are the large results that messages name, by hash.
	Blobs map[string][]byte
}

// Run runs the definition on the request under the given id, from which effect ids are made. The error is ctx's cause, a
// failure of the hook, or of the kit's build.
func (d *Direct) Run(ctx context.Context, id execution.ID, definition *agent.Definition,
	request execution.CreateRequest,
) (Result, error) {
	return d.start(ctx, id, definition, request, 0, d.cfg.Agents)
}

// start is Run at a depth below the execution that nobody called.
func (d *Direct) start(ctx context.Context, id execution.ID, definition *agent.Definition,
	request execution.CreateRequest, depth int, find local.AgentFinder,
) (Result, error) {
	definition, err := definition.With(request.Overrides)
	if err != nil {
		return Result{}, fmt.Errorf("request: %w", err)
	}
	kit, remote, err := carriers(ctx, definition, d.cfg.Builder, d.cfg.Remotes)
	if err != nil {
		return Result{}, fmt.Errorf("build the kit of %s: %w", definition.Name, err)
	}
	run := &directRun{
		direct: d, ledger: map[execution.CallID]*journal.LedgerEntry{},
		checkpoint: FirstCheckpoint(definition, request),
		messages:   []execution.Message{firstMessage(request)},
		base: situation{
			id: id, definition: definition, kit: kit, remote: remote, schemas: newSchemas(), find: find, maxDepth: d.cfg.MaxDepth,
			fence: "direct",
		},
	}
	run.checkpoint.State.Depth = depth
	defer run.abandon(ctx)
	if limit := run.checkpoint.State.Limits.Deadline; limit > 0 {
		run.base.deadlineAtMs = run.NowMs() + limit.Milliseconds()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, ErrDeadline)
		defer cancel()
	}
	return run.run(ctx)
}

// directRun is one run; it is the environment of its steps.
type directRun struct {
	direct     *Direct
	base       situation
	checkpoint Checkpoint
	messages   []execution.Message
	ledger     map[execution.CallID]*journal.LedgerEntry // written by one step at a time, under its batch's lock
	attempts   int
	blobs      map[string][]byte // likewise
}

func (r *directRun) run(ctx context.Context) (Result, error) {
	if stopped, err := r.consult(ctx); stopped != nil || err != nil {
		return r.result(journal.Then{Kind: journal.ThenSuspend}, stopped), err
	}
	for {
		a, err := newMachine(r.situation(), r).run(ctx)
		switch {
		case err != nil:
			r.checkpoint.State.Usage = a.state.Usage
			return r.result(journal.Then{}, nil), err
		case a.back != nil && a.back.suspension != nil:
			r.checkpoint.State.Usage = a.state.Usage
			return r.result(journal.Then{}, a.back.suspension), nil
		case a.back != nil:
			if err := r.wait(ctx, a); err != nil {
				return r.result(journal.Then{}, nil), err
			}
			continue
		}
		r.commit(a)
		r.emitLast(ctx, a.last)
		stopped, err := r.consult(ctx)
		if err != nil {
			return r.result(journal.Then{}, nil), err
		}
		if a.then.Kind == journal.ThenEnd {
			return r.result(a.then, nil), nil
		}
		if stopped == nil && a.then.Kind == journal.ThenPark && passes(a.then.WaitKind) {
			if err := r.sleep(ctx, a.then.Wait); err != nil {
				return r.result(journal.Then{}, nil), err
			}
			continue
		}
		if stopped == nil && a.then.Kind == journal.ThenSuspend {
			stopped = &a.then.Suspension
		}
		if stopped != nil || a.then.Kind != journal.ThenContinue {
			return r.result(a.then, stopped), nil
		}
	}
}

// situation is the next step's start.
func (r *directRun) situation() situation {
	s := r.base
	s.step, s.node, s.state = r.checkpoint.Step, r.checkpoint.Node, r.checkpoint.State
	s.messages, s.attempts = r.messages, r.attempts
	s.invocation = fmt.Sprintf("%d", r.attempts)
	for _, id := range s.state.Batch.callIDs() {
		s.ledger = append(s.ledger, *r.ledger[id])
	}
	return s
}

// commit takes a step into memory.
func (r *directRun) commit(a advance) {
	for _, plan := range a.plan {
		r.ledger[plan.CallID] = &journal.LedgerEntry{CallID: plan.CallID, State: journal.Planned, Intent: plan.Intent}
	}
	r.messages = append(r.messages, a.messages...)
	r.checkpoint = NewCheckpoint(r.checkpoint.Step+1, a.node, a.state)
	r.attempts = 0
}

// wait sleeps off a back-off. Usage of the failed attempt is kept.
func (r *directRun) wait(ctx context.Context, a advance) error {
	r.checkpoint.State.Usage = a.state.Usage
	if a.back.retry == nil {
		return nil
	}
	r.attempts++
	return r.sleep(ctx, a.back.retry.After)
}

// sleep waits for a while, or for the deadline.
func (r *directRun) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), ErrDeadline) {
			return nil // the next step finds it passed
		}
		return context.Cause(ctx)
	}
}

// consult asks the hook about the newest checkpoint.
func (r *directRun) consult(ctx context.Context) (*execution.Suspension, error) {
	checkpoint := r.checkpoint
	checkpoint.ExecutionID = r.base.id
	decision, err := consult(ctx, r.direct.cfg.Hook, checkpoint)
	if err != nil {
		return nil, err
	}
	if reason, suspends := decision.Suspends(); suspends {
		return &execution.Suspension{Reason: execution.ReasonPolicy, Detail: reason}, nil
	}
	return nil, nil
}

func (r *directRun) result(then journal.Then, suspension *execution.Suspension) Result {
	result := Result{Checkpoint: r.checkpoint, Messages: r.messages, Blobs: r.blobs, Outcome: then.Outcome, Failure: then.Failure}
	switch {
	case then.Kind == journal.ThenEnd:
	case suspension != nil:
		result.Suspension = suspension
	default:
		result.Interaction = then.Interaction
	}
	return result
}

type nowhere struct{}

// Frame drops the frame.
func (nowhere) Frame(execution.Frame) {}
