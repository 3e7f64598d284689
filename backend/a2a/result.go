package a2a

import (
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/backend"
)

const (
	timeoutWord       = "timeout"
	inputRequiredWord = "input_required"
	authRequiredWord  = "auth_required"
	rejectedWord      = "rejected"
)

// working reports whether a task may still go on by itself. A state that nobody knows counts: the run's time bounds it.
func working(state a2a.TaskState) bool {
	return !state.Terminal() && state != a2a.TaskStateInputRequired && state != a2a.TaskStateAuthRequired
}

// result is what the task's state means for the run.
func (c *call) result(task *a2a.Task) (backend.RunResult, error) {
	if task.ID == "" || c.handle.TaskID != "" && task.ID != c.handle.TaskID {
		return backend.RunResult{}, asError(permanent(CodeMalformed, "the remote agent answered with another task"))
	}
	c.handle.TaskID = task.ID
	if task.ContextID != "" {
		c.handle.ContextID = task.ContextID
	}
	said := c.settings.clean(statusText(task))
	if c.answered(task) {
		return c.awaiting(phaseWorking, c.handle.after(c.settings, c.cfg.Now()))
	}
	switch task.Status.State {
	case a2a.TaskStateInputRequired:
		return c.waiting(phaseInput, backend.WaitingInputStatus(question(said, "The remote agent asks for input.")), inputRequiredWord)
	case a2a.TaskStateAuthRequired:
		return c.waiting(phaseAuth, backend.WaitingAuthStatus(question(said, "The remote agent asks for credentials.")), authRequiredWord)
	case a2a.TaskStateCompleted:
		return c.end(backend.CompletedStatus(), backend.TerminationReason{Kind: backend.NaturalEnd}, taskOutput(task))
	case a2a.TaskStateCanceled:
		return c.end(backend.CanceledStatus(), backend.TerminationReason{Kind: backend.TermCanceled}, backend.RunOutput{})
	case a2a.TaskStateFailed:
		return c.failed("the remote agent failed"+c.settings.quote(said), nil)
	case a2a.TaskStateRejected:
		return c.failed("the remote agent rejected the message"+c.settings.quote(said), optional(rejectedWord))
	default:
		return c.awaiting(phaseWorking, c.handle.after(c.settings, c.cfg.Now()))
	}
}

// answered reports whether the task still shows the question that it has the answer to: some agents tell of themselves before
// they have looked at a message. It notes a new question.
func (c *call) answered(task *a2a.Task) bool {
	if task.Status.State.Terminal() || working(task.Status.State) {
		return false
	}
	asked := ""
	if task.Status.Message != nil {
		asked = task.Status.Message.ID
	}
	if task.Status.Timestamp != nil {
		asked += " " + task.Status.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	if c.handle.Answers && asked != "" && asked == c.handle.Asked {
		return true
	}
	c.handle.Asked = asked
	return false
}

// question is what the agent asks, and something when it says nothing.
func question(said, otherwise string) *string {
	if said == "" {
		said = otherwise
	}
	return &said
}

// awaiting says that the run is to be asked about again.
func (c *call) awaiting(at phase, after time.Duration) (backend.RunResult, error) {
	result, err := c.waiting(at, backend.SuspendedStatus(nil), backend.AwaitingTasks)
	result.After = after
	return result, err
}

// waiting keeps where the run stands.
func (c *call) waiting(at phase, status backend.RunStatus, reason string) (backend.RunResult, error) {
	c.handle.Phase = at
	state, err := c.handle.into(c.state)
	return backend.RunResult{
		AgentID: c.agentID, Status: status, Termination: backend.TerminationReason{Kind: backend.TermSuspended},
		StatusReason: &reason, State: state,
	}, err
}

func (c *call) failed(message string, reason *string) (backend.RunResult, error) {
	result, err := c.end(backend.FailedStatus(message), backend.TerminationReason{Kind: backend.TermError, Detail: message}, backend.RunOutput{})
	result.StatusReason = reason
	return result, err
}

// end keeps the context for a later message of the conversation.
func (c *call) end(status backend.RunStatus, termination backend.TerminationReason, output backend.RunOutput) (backend.RunResult, error) {
	c.handle.Phase = phaseEnded
	state, err := c.handle.into(c.state)
	return backend.RunResult{
		AgentID: c.agentID, Status: status, Termination: termination, Output: output, Steps: 1, State: state,
	}, err
}
