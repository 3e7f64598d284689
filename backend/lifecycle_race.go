package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// raceEnd says what ended the race of a backend with cancellation.
type raceEnd int

const (
	raceReturned raceEnd = iota
	raceCanceled
	raceStopped // the context of the run ended
)

type attempt struct {
	result RunResult
	err    error
}

// race runs the backend until it returns, somebody cancels, or ctx ends. What a backend returns within the grace after a
// cancel is handed on for its state.
func (r *rootRun) race(ctx context.Context) (RunResult, raceEnd, error) {
	select {
	case <-r.Canceled: // before anything was asked of the remote
		return RunResult{}, raceCanceled, nil
	default:
	}
	backendCtx, end := context.WithCancel(ctx)
	defer end()
	gate := &gate{}
	defer gate.close()
	done := make(chan attempt, 1) // buffered: a backend that was left behind does not hang on it
	go r.execute(backendCtx, gate, done)
	select {
	case out := <-done:
		return r.judge(ctx, out)
	case <-r.Canceled:
	case <-ctx.Done():
	}
	end()
	grace := time.NewTimer(r.cfg.Grace)
	defer grace.Stop()
	var late attempt
	select {
	case late = <-done:
	case <-grace.C:
		r.cfg.Logger.WarnContext(ctx, "a backend did not return when its context ended", "agentId", r.Request.AgentID,
			"runId", r.Request.Identity.RunID)
	}
	if ctx.Err() != nil {
		return RunResult{}, raceStopped, nil
	}
	return late.result, raceCanceled, nil
}

// judge says what a return means. An error of a backend that saw the cancel or the end of ctx before we did is no failure.
func (r *rootRun) judge(ctx context.Context, out attempt) (RunResult, raceEnd, error) {
	if out.err == nil {
		return out.result, raceReturned, nil
	}
	if ctx.Err() != nil {
		return RunResult{}, raceStopped, nil
	}
	select {
	case <-r.Canceled:
		return out.result, raceCanceled, nil
	default:
		return out.result, raceReturned, out.err
	}
}

func (r *rootRun) execute(ctx context.Context, gate *gate, done chan<- attempt) {
	out := attempt{err: ExecutionFailed("the backend did not return")}
	defer func() {
		if p := recover(); p != nil {
			out.err = ExecutionFailed(fmt.Sprintf("the backend panicked: %v", p))
		}
		done <- out
	}()
	request := r.Request
	request.Messages, request.NewMessages = slices.Clone(request.Messages), slices.Clone(request.NewMessages)
	request.State = r.PreviousState.Clone()
	request.Control = NewControl(r.backend.Capabilities(), r.Canceled, request.Control.Decisions)
	if request.Sink != nil {
		request.Sink = gatedSink{EventSink: request.Sink, gate: gate}
	}
	if request.Checkpoints != nil {
		request.Checkpoints = gatedStore{CheckpointStore: request.Checkpoints, gate: gate}
	}
	out.result, out.err = r.backend.ExecuteRoot(ctx, request)
}

// gate stands between a backend and what the run's leader writes: what a backend does after it was left behind goes
// nowhere. A call that is inside when the gate closes has an ended context and has outlived the grace.
type gate struct{ closed atomic.Bool }

func (g *gate) close() { g.closed.Store(true) }

var errLeftBehind = errors.New("the run has ended for this backend")

type gatedSink struct {
	EventSink
	gate *gate
}

// Emit drops the event of a backend that was left behind.
func (s gatedSink) Emit(ctx context.Context, event Event) {
	if !s.gate.closed.Load() {
		s.EventSink.Emit(ctx, event)
	}
}

type gatedStore struct {
	CheckpointStore
	gate *gate
}

// Checkpoint refuses the write of a backend that was left behind.
func (s gatedStore) Checkpoint(
	ctx context.Context, conversation execution.ConversationID, messages []Message, run RunRecord,
) error {
	if s.gate.closed.Load() {
		return fmt.Errorf("checkpoint of run %s: %w", run.RunID, errLeftBehind)
	}
	return s.CheckpointStore.Checkpoint(ctx, conversation, messages, run)
}
