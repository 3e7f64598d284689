package backend

import "context"

const (
	noRootText     = "backend does not support root execution"
	noDelegateText = "backend does not support delegated execution"
)

// Backend carries out agents, in this process or at a remote. It may be used by many goroutines.
type Backend interface {
	// Capabilities is what the backend can do, the same at every call.
	Capabilities() Capabilities
	// Abort ends a run at its remote as far as it can. A run that is over or unknown is no error; it may be called again.
	Abort(ctx context.Context, request AbortRequest) error
	// ExecuteRoot carries out a root run. When ctx ends it closes its requests and returns soon. A run that goes on at a
	// remote may return suspended with reason AwaitingTasks and its handle in State; it is then called again with that
	// state. Errors are of type *Error; any other one shows as it is.
	ExecuteRoot(ctx context.Context, request RootRunRequest) (RunResult, error)
	// ExecuteDelegate carries out a run for a call of another agent, with the same errors.
	ExecuteDelegate(ctx context.Context, request DelegateRunRequest) (RunResult, error)
}

// Base is what a backend is that declares nothing: embed it and replace what the backend can do.
type Base struct{}

var _ Backend = Base{}

// Capabilities is RemoteStatelessText.
func (Base) Capabilities() Capabilities { return RemoteStatelessText() }

// Abort does nothing.
func (Base) Abort(context.Context, AbortRequest) error { return nil }

// ExecuteRoot refuses.
func (Base) ExecuteRoot(context.Context, RootRunRequest) (RunResult, error) {
	return RunResult{}, ExecutionFailed(noRootText)
}

// ExecuteDelegate refuses.
func (Base) ExecuteDelegate(context.Context, DelegateRunRequest) (RunResult, error) {
	return RunResult{}, ExecutionFailed(noDelegateText)
}
