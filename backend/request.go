package backend

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// RootRunRequest asks a backend to carry out the agent of an execution.
type RootRunRequest struct {
	AgentID     string
	Messages    []Message // the whole transcript, the new ones included
	NewMessages []Message // those of this turn
	Sink        EventSink // nil: nobody listens
	Resolver    Resolver  // finds other agents; may be nil
	Identity    RunIdentity
	// Checkpoints keeps the run; nil: nothing of it is kept.
	Checkpoints CheckpointStore
	Control     Control
	// Decisions were made before this call.
	Decisions []Decision
	// Overrides is nil when the agent's definition holds as it is. FrontendTools below is what counts of the tools.
	Overrides     *execution.Overrides
	FrontendTools []execution.FrontendTool
	// Local is what a local backend needs, and nobody else.
	Local LocalRuntime
	// IsContinuation says that the run goes on from State, which an earlier call left.
	IsContinuation bool
	State          *PersistedState
	// OperationID names what this call tells the remote: the same however often the call is made again, and another one for
	// each message of the run. Empty: nobody will make the call again.
	OperationID string
}

// Resolver finds the execution of an agent. It returns an error of kind ErrorAgentNotFound for an agent it does not know.
type Resolver interface {
	ResolveExecution(ctx context.Context, agentID string) (Resolved, error)
}

// DelegatePersistence says what is kept of a delegate's run.
type DelegatePersistence string

// Ephemeral says that the delegate runs inside the call and nothing of it is kept.
const Ephemeral DelegatePersistence = "ephemeral"

// DelegateContinuation says whether a delegate may go on from an earlier run.
type DelegateContinuation string

// ContinuationDisabled says that each run of the delegate begins anew.
const ContinuationDisabled DelegateContinuation = "disabled"

// DelegatePolicy says how a delegate runs.
type DelegatePolicy struct {
	Persistence  DelegatePersistence
	Continuation DelegateContinuation
}

// DefaultDelegatePolicy is an ephemeral delegate that begins anew.
func DefaultDelegatePolicy() DelegatePolicy {
	return DelegatePolicy{Persistence: Ephemeral, Continuation: ContinuationDisabled}
}

// DelegateRunRequest asks a backend to carry out an agent for a call of another one. A delegate has no store, no overrides
// and no decisions made before.
type DelegateRunRequest struct {
	AgentID     string
	Messages    []Message
	NewMessages []Message
	Sink        EventSink
	Resolver    Resolver
	Parent      ParentContext
	Control     Control
	Policy      DelegatePolicy
	Local       LocalRuntime // what a local backend needs
}

// AbortRequest asks a backend to end a run at its remote, as far as it can.
type AbortRequest struct {
	AgentID  string
	Identity RunIdentity
	Parent   *ParentContext // of a delegate
	// State is the latest that was kept: after a restart the remote's handle is found in it.
	State          *PersistedState
	IsContinuation bool
}
