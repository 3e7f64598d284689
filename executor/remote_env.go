package executor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/faultpoint"
)

// remoteAbortTimeout bounds an abort at a remote: a canceled claim is kept for 5 s, and what became of the abort is to be
// written within them.
const remoteAbortTimeout = 4 * time.Second

func newLifecycle(logger *slog.Logger) (*backend.Lifecycle, error) {
	return backend.NewLifecycle(backend.LifecycleConfig{AbortTimeout: remoteAbortTimeout, Logger: logger})
}

// lead makes a call of a backend. A cancel and the deadline are told to the remote, because they end the execution; any
// other end of ctx leaves the remote's work to whoever has the execution next.
func lead(ctx context.Context, lifecycle *backend.Lifecycle, run backend.RootRun) (backend.Led, error) {
	canceled := make(chan struct{})
	runCtx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	unlink := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if errors.Is(cause, ErrUserCancel) || errors.Is(cause, ErrDeadline) {
			close(canceled)
			return
		}
		end(cause)
	})
	defer unlink()
	run.Canceled = canceled
	return lifecycle.Lead(runCtx, run)
}

// Lead implements environment.
func (h *holder) Lead(ctx context.Context, run backend.RootRun, opened string) (backend.Led, error) {
	run.Request.Sink = remoteSink{sink: &answer{frames: h.frames, invocation: opened}}
	led, err := lead(ctx, h.durable.lifecycle, run)
	faultpoint.Hit("remote_answered")
	return led, err
}

// emitLast emits the events that follow the write of the boundary. They are transient: who does not hear them is told by the
// log.
func (h *holder) emitLast(ctx context.Context, l *link) {
	for _, event := range l.last {
		frame, ok := agentFrame(event)
		if !ok {
			continue
		}
		frame.Step = l.machine.step
		ctx, cancel := context.WithTimeout(ctx, frameTimeout)
		_, err := h.durable.cfg.Store.PublishFrame(ctx, h.claimed.Execution.ID, frame)
		cancel()
		if err != nil {
			return
		}
	}
}

// Lead implements environment.
func (r *directRun) Lead(ctx context.Context, run backend.RootRun, _ string) (backend.Led, error) {
	run.Request.Sink = remoteSink{sink: r.direct.cfg.Sink}
	return lead(ctx, r.direct.lifecycle, run)
}

func (r *directRun) emitLast(ctx context.Context, events []backend.Event) {
	sink := remoteSink{sink: r.direct.cfg.Sink}
	for _, event := range events {
		sink.Emit(ctx, event)
	}
}

// abandon ends at the remote what a run leaves there that nobody will go on with.
func (r *directRun) abandon(ctx context.Context) {
	open := r.checkpoint.State.Remote
	if open == nil || r.base.remote == nil {
		return
	}
	carrier, err := r.base.remote.Backend()
	if err != nil || !carrier.Capabilities().Cancellation.SupportsRemoteAbort() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remoteAbortTimeout)
	defer cancel()
	if err := carrier.Abort(ctx, abortOf(r.base.definition.Name, r.base.id, "", open.State)); err != nil {
		slog.WarnContext(ctx, "a run that was left could not be aborted at its remote", "agentId", r.base.definition.Name,
			"runId", r.base.id, "error", err)
	}
}

// passes reports whether a wait of this kind ends by itself.
func passes(kind execution.WaitKind) bool {
	return kind == execution.WaitRetry || kind == execution.WaitRemote
}

func abortOf(
	agentID string, id execution.ID, conversation execution.ConversationID, state *backend.PersistedState,
) backend.AbortRequest {
	return backend.AbortRequest{
		AgentID: agentID, State: state, IsContinuation: true,
		Identity: backend.RunIdentity{ConversationID: conversation, RunID: id, AgentID: agentID, Origin: backend.OriginUser},
	}
}
