package backend

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// The defaults of a LifecycleConfig.
const (
	DefaultGrace        = 500 * time.Millisecond
	DefaultAbortTimeout = 10 * time.Second
	DefaultKeepTimeout  = 10 * time.Second
)

// LifecycleConfig says how root runs of remote agents are led. The zero value works.
type LifecycleConfig struct {
	// Grace is how long a backend whose context ended may take to return before it is left behind. DefaultGrace when 0.
	Grace time.Duration
	// AbortTimeout bounds an abort at the remote. DefaultAbortTimeout when 0.
	AbortTimeout time.Duration
	// KeepTimeout bounds the reads and writes of a run's end. DefaultKeepTimeout when 0.
	KeepTimeout time.Duration
	Now         func() time.Time // time.Now when nil
	MessageID   func() string    // a random text when nil
	Logger      *slog.Logger     // slog.Default when nil
}

// Lifecycle leads root runs of remote agents: events, cancellation, what is kept and in which order. It may be used by
// many goroutines.
type Lifecycle struct{ cfg LifecycleConfig }

// NewLifecycle refuses negative times.
func NewLifecycle(cfg LifecycleConfig) (*Lifecycle, error) {
	if cfg.Grace < 0 || cfg.AbortTimeout < 0 || cfg.KeepTimeout < 0 {
		return nil, errors.New("lifecycle config: a time is negative")
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.AbortTimeout == 0 {
		cfg.AbortTimeout = DefaultAbortTimeout
	}
	if cfg.KeepTimeout == 0 {
		cfg.KeepTimeout = DefaultKeepTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MessageID == nil {
		cfg.MessageID = rand.Text
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Lifecycle{cfg: cfg}, nil
}

// RootRun is one call of a root run.
type RootRun struct {
	Agent   *ResolvedAgent
	Request RootRunRequest
	// CreatedAtMs is when the run was created, in milliseconds since 1970.
	CreatedAtMs int64
	// Canceled is closed when somebody cancels the run. The end of the context is not a cancel: the run is left as it is.
	Canceled <-chan struct{}
	// PreviousState is what an earlier call left; the request's State when that is nil.
	PreviousState *PersistedState
	// Resumed says that an earlier call of this run returned Parked: its first events were emitted then.
	Resumed bool
	// Again says of an error of the backend that the call is to be made again: it is returned as it is, and nothing is kept or
	// emitted. nil: no error is.
	Again func(error) bool
}

// RootRunResult is what a call of a root run came to.
type RootRunResult struct {
	RunResult
	// Durable is where the run stands in the store.
	Durable DurableStatus
	// Answer is the text of the answer; empty when there is none.
	Answer string
	// Parked says that the remote goes on working: the last events are still to come, and the run is to be called again
	// with State and Resumed.
	Parked bool
	// Err is the backend's error when that is why the run failed.
	Err error
	// Aborted says that the run was canceled and that its remote has nothing more to do: it was told, or was never asked.
	Aborted bool
}

// Led is a call of a root run whose end is not kept yet.
type Led struct {
	RootRunResult
	// Messages are the transcript as the call leaves it.
	Messages []Message
	// Last are the events to emit once the run is kept; none when it is parked.
	Last []Event
}

// Run leads one call of a root run:
//
//  1. The backend is built; ErrResolve when it cannot be, and nothing else happens.
//  2. run_start and step_start are emitted, unless the run is resumed.
//  3. The backend runs until it returns or somebody cancels. A cancel ends the backend's context; a backend that does not
//     return within the grace is left behind, and can emit and keep nothing from then on. A backend that can is told to
//     abort at its remote.
//  4. The run is kept. When that fails the error is ErrStorage and neither of the last events is emitted.
//  5. step_end and run_finish are emitted, unless the run is parked.
//
// When ctx ends before the backend has returned, the error is the context's cause and nothing is kept or emitted.
func (l *Lifecycle) Run(ctx context.Context, run RootRun) (RootRunResult, error) {
	r, led, err := l.lead(ctx, run)
	if err != nil {
		return RootRunResult{}, err
	}
	ctx, done := last(ctx, l.cfg.KeepTimeout)
	defer done()
	if err := r.keep(ctx, led.RootRunResult, led.Messages); err != nil {
		return RootRunResult{}, err
	}
	for _, event := range led.Last {
		r.emit(ctx, event)
	}
	return led.RootRunResult, nil
}

// Lead is Run up to its fourth step, for a caller that keeps the run itself: it does so, and then emits the last events.
func (l *Lifecycle) Lead(ctx context.Context, run RootRun) (Led, error) {
	_, led, err := l.lead(ctx, run)
	return led, err
}

func (l *Lifecycle) lead(ctx context.Context, run RootRun) (*rootRun, Led, error) {
	backend, err := run.Agent.Backend()
	if err != nil {
		return nil, Led{}, fmt.Errorf("%w %q: %w", ErrResolve, run.Request.AgentID, err)
	}
	if ctx.Err() != nil {
		return nil, Led{}, fmt.Errorf("root run %s: %w", run.Request.Identity.RunID, context.Cause(ctx))
	}
	if run.PreviousState == nil {
		run.PreviousState = run.Request.State
	}
	r := &rootRun{RootRun: run, cfg: l.cfg, backend: backend}
	if !run.Resumed {
		r.begin(ctx)
	}
	r.startedAt = l.cfg.Now()
	end, err := r.run(ctx)
	if err != nil {
		return nil, Led{}, err
	}
	led, err := r.finish(end)
	return r, led, err
}

// run calls the backend and says how the call ended.
func (r *rootRun) run(ctx context.Context) (ending, error) {
	switch result, how, err := r.race(ctx); {
	case how == raceStopped:
		return ending{}, fmt.Errorf("root run %s: %w", r.Request.Identity.RunID, context.Cause(ctx))
	case how == raceCanceled:
		return r.canceled(ctx, result.State), nil
	case err != nil && r.Again != nil && r.Again(err):
		return ending{}, fmt.Errorf("root run %s: %w", r.Request.Identity.RunID, err)
	case err != nil:
		return r.failed(ctx, err, result.State), nil
	default:
		return r.succeeded(ctx, result), nil
	}
}

// rootRun is one call under way. It is owned by the goroutine that leads it.
type rootRun struct {
	RootRun
	cfg       LifecycleConfig
	backend   Backend
	startedAt time.Time
}

func (r *rootRun) begin(ctx context.Context) {
	identity := r.Request.Identity
	r.emit(ctx, RunStart{
		ConversationID: identity.ConversationID, RunID: identity.RunID, ParentRunID: identity.ParentRunID, Identity: identity,
	})
	r.emit(ctx, StepStart{MessageID: r.cfg.MessageID()})
}

func (r *rootRun) emit(ctx context.Context, event Event) {
	if r.Request.Sink != nil {
		r.Request.Sink.Emit(ctx, event)
	}
}

// last is a context for what must be done even when the one of the run ends meanwhile.
func last(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), timeout)
}
