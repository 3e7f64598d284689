package executor

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// afterBeforeRemote is afterBeforeModelRequest for an agent that is elsewhere: it tells the remote what is new, or looks how
// far the remote is. What the remote took is committed before anybody waits for it.
func (m *machine) afterBeforeRemote(ctx context.Context) (advance, error) {
	m.state.MessageCount = len(m.messages)
	run := m.state.Remote
	if run != nil && run.Question != nil && !run.Question.Answered {
		return m.remoteReply()
	}
	tells := run == nil || run.Question != nil
	if tells {
		m.chargeLostRemote()
		if over := m.noRoomForRequest(); over != "" {
			return m.limit(over, nil), nil
		}
	}
	if err := m.env.Sure(ctx); err != nil {
		return advance{}, err
	}
	root := backend.RootRun{
		Agent: m.remote, Request: m.remoteRequest(tells), Again: passing,
		Resumed: run != nil || m.attempts > 0,
	}
	led, err := m.env.Lead(ctx, root, m.state.InvocationID)
	if errors.Is(err, execution.ErrNewer) { // the handle of its task: nothing was sent
		return advance{state: m.state}, err
	}
	if tells {
		m.state.Usage = m.state.Usage.Add(execution.Usage{Requests: 1})
	}
	switch {
	case err == nil:
		return m.remoteLed(ctx, &led, root.Request.OperationID)
	case ctx.Err() != nil:
		return advance{state: m.state}, context.Cause(ctx)
	case errors.Is(err, backend.ErrResolve):
		return advance{state: m.state}, cannotRun("", err)
	default:
		return m.retry(err), nil
	}
}

// passing reports whether an error of a backend may pass by itself, or passes with another worker.
func passing(err error) bool {
	return local.KindOf(err) == local.Transient || errors.Is(err, execution.ErrNewer)
}

// chargeLostRemote charges what workers told the remote that died before they could say what became of it.
func (m *machine) chargeLostRemote() {
	for range m.lost {
		m.state.Usage = m.state.Usage.Add(execution.Usage{Requests: 1, LostRequests: 1, Partial: true})
	}
	m.lost = 0
}

// remoteLed makes of a call of the backend what is to be committed.
func (m *machine) remoteLed(ctx context.Context, led *backend.Led, operation string) (advance, error) {
	if m.state.Remote == nil {
		m.state.Remote = &RemoteRun{}
	}
	run := m.state.Remote
	if run.Operation != operation {
		run.Operation, run.Looks, run.Noted = operation, 0, false
	}
	run.State, run.Question = withoutLongOutput(led.State), nil
	if led.Status.Kind == backend.StatusCanceled && ctx.Err() != nil {
		return m.remoteCanceled(ctx, led)
	}
	var a advance
	var err error
	switch {
	case led.Durable == backend.DurableWaiting:
		a, err = m.remoteWaits(led)
	case led.Status.Kind == backend.StatusCompleted && finished(led.Termination):
		a, err = m.remoteAnswered(led)
	default:
		a = m.remoteFailed(led)
	}
	a.last = led.Last
	if err != nil || a.cleanup != nil {
		return a, err
	}
	a.cleanup, err = m.noteRemote(a.state.Remote)
	return a, err
}

// noteRemote says what the row is to keep for whoever undoes the run: nil when nothing changes.
func (m *machine) noteRemote(run *RemoteRun) (*[]byte, error) {
	if run == nil || run.Noted {
		return nil, nil
	}
	data, err := encodeCleanup(m.definition.Name, m.env.NowMs(), run.State)
	if err != nil {
		return nil, err
	}
	run.Noted = true
	return &data, nil
}

// nothingToUndo takes from the row what it keeps of the remote run.
func nothingToUndo() *[]byte { return &[]byte{} }

// remoteWaits parks the run, for the remote's time or for a person's answer. No worker is held.
func (m *machine) remoteWaits(led *backend.Led) (advance, error) {
	switch led.Status.Kind {
	case backend.StatusWaitingInput:
		return m.remoteAsks(execution.Elicitation, led), nil
	case backend.StatusWaitingAuth:
		return m.remoteAsks(execution.Authentication, led), nil
	case backend.StatusCompleted, backend.StatusSuspended, backend.StatusFailed, backend.StatusCanceled, backend.StatusTimeout:
	}
	run := m.state.Remote
	wait := lookAfter(led.After, run.Looks)
	run.Looks++
	a := m.next(BeforeModelRequest)
	a.then = journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: wait}
	return a, nil
}

// remoteCanceled follows a cancel, or the deadline, that the remote was told of. If it did not take that, the row says what
// is still to be undone.
func (m *machine) remoteCanceled(ctx context.Context, led *backend.Led) (advance, error) {
	run := m.state.Remote
	undo, err := m.noteRemote(run)
	if err != nil {
		return advance{}, err
	}
	if led.Aborted {
		undo, m.state.Remote = nothingToUndo(), nil
	}
	var a advance
	if errors.Is(context.Cause(ctx), ErrDeadline) {
		a = m.fail(execution.CodeDeadlineExceeded, "the deadline has passed")
	} else { // the store ends the execution with this very write
		a = m.next(BeforeModelRequest)
	}
	a.cleanup, a.last = undo, led.Last
	return a, nil
}
