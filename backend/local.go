package backend

import "context"

const (
	noLocalRootText     = "local root execution requires a phase runtime context"
	noLocalDelegateText = "local delegated execution requires a runtime context"
)

// LocalRuntime is the loop of this process, which requests bring along for the local backend.
type LocalRuntime interface {
	RunRoot(ctx context.Context, request RootRunRequest) (RunResult, error)
	RunDelegate(ctx context.Context, request DelegateRunRequest) (RunResult, error)
}

// Local is the backend that hands runs to the loop of this process. It can do everything.
type Local struct{ Base }

// Capabilities is Full.
func (Local) Capabilities() Capabilities { return Full() }

// ExecuteRoot runs the loop that the request brings along, and fails without one.
func (Local) ExecuteRoot(ctx context.Context, request RootRunRequest) (RunResult, error) {
	if request.Local == nil {
		return RunResult{}, ExecutionFailed(noLocalRootText)
	}
	return request.Local.RunRoot(ctx, request)
}

// ExecuteDelegate runs the loop that the request brings along, and fails without one.
func (Local) ExecuteDelegate(ctx context.Context, request DelegateRunRequest) (RunResult, error) {
	if request.Local == nil {
		return RunResult{}, ExecutionFailed(noLocalDelegateText)
	}
	return request.Local.RunDelegate(ctx, request)
}

// LocalStatus is the status of a local run that stopped for this reason.
func LocalStatus(termination TerminationReason) RunStatus {
	switch termination.Kind {
	case NaturalEnd, BehaviorRequested:
		return CompletedStatus()
	case TermCanceled:
		return CanceledStatus()
	case TermSuspended:
		return SuspendedStatus(nil)
	case Stopped:
		return FailedStatus(stoppedPrefix + " " + termination.Detail)
	case Blocked:
		return FailedStatus(blockedPrefix + " " + termination.Detail)
	case TermError:
	}
	return FailedStatus(termination.Detail)
}
