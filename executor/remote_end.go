package executor

import (
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// finished reports whether a run that is completed has an answer. Status and termination may disagree.
func finished(termination backend.TerminationReason) bool {
	switch termination.Kind {
	case backend.NaturalEnd, backend.BehaviorRequested, backend.Stopped:
		return true
	case backend.TermCanceled, backend.Blocked, backend.TermSuspended, backend.TermError:
	}
	return false
}

// remoteAnswered takes the answer into the state and the history, as that of a model.
func (m *machine) remoteAnswered(led *backend.Led) (advance, error) {
	output, left, err := structured(led.Output.Artifacts)
	if err != nil {
		return advance{}, err
	}
	message, err := m.answerOfRemote(led)
	if err != nil {
		return advance{}, err
	}
	completed := execution.ModelCompleted{
		Turn: m.state.Turn, InvocationID: m.state.InvocationID, FinishReason: finishStop, Model: m.remote.ModelID,
	}
	m.state.Turn++
	m.state.Remote = nil
	m.state.Response = &Response{Text: led.Answer, FinishReason: finishStop, Output: output}
	a := m.next(ModelResponse, message)
	a.events = []execution.Payload{completed}
	if left > 0 {
		a.events = append(a.events, execution.Warning{
			Code: warningArtifactLeft, Message: fmt.Sprintf("the content of %d artifacts of the remote agent is too long to be kept", left),
		})
	}
	a.cleanup = nothingToUndo()
	return a, nil
}

// finishStop is why a whole answer ended.
const finishStop = "stop"

// remoteFailed ends the run that has no answer. A remote that says so itself is over with it; of one that did not answer, or
// not in time, nobody knows, and it is told again that nobody waits for it any more.
func (m *machine) remoteFailed(led *backend.Led) advance {
	code, message := remoteFailure(led)
	run := m.state.Remote
	m.state.Remote = nil
	a := m.fail(code, message)
	if led.Err == nil && led.Status.Kind != backend.StatusTimeout {
		a.cleanup = nothingToUndo()
		return a
	}
	if run.State == nil {
		return a
	}
	undo, err := m.noteRemote(run)
	if err == nil { // else the row keeps what it has
		a.cleanup = undo
	}
	return a
}

// remoteFailure is the failure of a run without an answer.
func remoteFailure(led *backend.Led) (code, message string) {
	message = led.Termination.Detail
	if led.Status.Message != nil {
		message = *led.Status.Message
	}
	switch {
	case led.Err != nil:
		return codeOfBackend(led.Err), message
	case led.Status.Kind == backend.StatusTimeout:
		return execution.CodeRemoteTimeout, "the remote agent did not answer in time"
	case led.Status.Kind == backend.StatusCanceled, led.Status.Kind == backend.StatusCompleted && led.Termination.Kind == backend.TermCanceled:
		return execution.CodeRemoteCanceled, "the remote agent canceled its task"
	case led.StatusReason != nil && *led.StatusReason == reasonRejected:
		return execution.CodeRemoteRejected, message
	default:
		return execution.CodeRemoteFailed, message
	}
}

// reasonRejected is the status reason of a remote that would not take what it was told.
const reasonRejected = "rejected"

// codeOfBackend is the failure code of a backend's error: its own, if it has one.
func codeOfBackend(err error) string {
	var classified *local.Error
	if errors.As(err, &classified) && classified.Code != "" {
		return classified.Code
	}
	var failed *backend.Error
	if errors.As(err, &failed) && failed.Kind == backend.ErrorAgentNotFound {
		return execution.CodeRemoteNotFound
	}
	return execution.CodeRemoteFailed
}
