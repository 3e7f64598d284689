package executor

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// maxMaxDepth bounds how deep agents may call each other: runs inside calls hold each other's stack.
const maxMaxDepth = 64

// depthOf fills in the default.
func depthOf(configured int) (int, error) {
	switch {
	case configured > maxMaxDepth:
		return 0, fmt.Errorf("executor: MaxDepth must be at most %d, is %d", maxMaxDepth, configured)
	case configured == 0:
		return DefaultMaxDepth, nil
	default:
		return max(0, configured), nil
	}
}

// RunDelegate runs an agent inside a call of another one. Agents that it calls itself run inside its calls, the durable ones
// too. Usage is what the run has spent, also beside an error, which is ctx's cause or says that the agent cannot be run here.
// A run that would wait ends with the status of what it waits for: nobody answers it.
func (d *Direct) RunDelegate(ctx context.Context, id execution.ID, prompt string, grant local.Grant) (
	backend.RunResult, execution.Usage, error,
) {
	limits := grant.Limits
	result, err := d.start(ctx, id, grant.Definition, execution.CreateRequest{
		Agent: grant.Definition.Name, Input: execution.Input{Type: execution.UserMessage, Text: prompt}, Limits: &limits,
	}, grant.Depth, grant.Find)
	usage := result.Checkpoint.State.Usage
	if err != nil {
		return backend.RunResult{}, usage, err
	}
	return result.delegate(grant.Definition.Name, id), usage, nil
}

// delegate is the result as backends give it.
func (r Result) delegate(name string, id execution.ID) backend.RunResult {
	run := backend.RunResult{AgentID: name, RunID: string(id), Steps: r.Checkpoint.State.Turn}
	switch {
	case r.Outcome != nil:
		run.Status, run.Termination = backend.CompletedStatus(), backend.TerminationReason{Kind: backend.NaturalEnd}
		run.Response = &r.Outcome.Answer
		return run
	case r.Failure != nil && r.Failure.Code == execution.CodeDeadlineExceeded:
		run.Status = backend.TimeoutStatus()
	case r.Failure != nil:
		run.Status = backend.FailedStatus(r.Failure.Code + ": " + r.Failure.Message)
	case r.Interaction != nil && r.Interaction.Kind == execution.Authentication:
		run.Status = backend.WaitingAuthStatus(&r.Interaction.Prompt)
	case r.Interaction != nil:
		run.Status = backend.WaitingInputStatus(&r.Interaction.Prompt)
	case r.Suspension != nil:
		detail := string(r.Suspension.Reason)
		if r.Suspension.Detail != "" {
			detail += ": " + r.Suspension.Detail
		}
		run.Status = backend.SuspendedStatus(&detail)
	default:
		run.Status = backend.SuspendedStatus(nil)
	}
	run.Termination = backend.TerminationReason{Kind: backend.TermSuspended}
	if r.Failure != nil {
		run.Termination = backend.TerminationReason{Kind: backend.TermError, Detail: r.Failure.Message}
	}
	return run
}
