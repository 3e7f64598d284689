package journal

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// ExecutionJournal is the reference contract: fourteen methods, each one atomic write or read.
//
// Holder methods are fenced (first guard) and repeatable by Hold.Operation. Every mutation raises the row's version
// except Claim, and sets UpdatedAtMs. A failure changes nothing. Every method returns ErrUnavailable when the store did
// not answer; it may be repeated with the very same arguments.
type ExecutionJournal interface {
	// Reserve: see Commands.
	Reserve(ctx context.Context, execution NewExecution) (Reservation, error)
	// Get: see Reader.
	Get(ctx context.Context, id execution.ID) (Execution, error)
	// Claim: see Steps.
	Claim(ctx context.Context, request ClaimRequest) (Claimed, error)
	// Recoverable is the filtered view of the due indexes: at most limit open rows without a live claim that a worker
	// could take, and terminal rows whose delegation is not cleaned up, oldest first. Rows that wait for input or for a
	// time yet to come are left out. It writes nothing.
	Recoverable(ctx context.Context, limit int) ([]Execution, error)
	// Transition moves the state without an event, by a holder: only for moves the state table marks invisible. The
	// current state must be one of expected, else ErrState; an empty expected is ErrConflict.
	Transition(ctx context.Context, hold Hold, expected []execution.State, next execution.State) (Execution, error)
	// AttachDelegation stores the delegation. The same lease with a higher revision replaces expiry and revision, with
	// an equal or lower one changes nothing; another lease, or a terminal row, is ErrConflict.
	AttachDelegation(ctx context.Context, hold Hold, delegation Delegation) (Execution, error)
	// CompleteDelegationCleanup: see Commands.
	CompleteDelegationCleanup(ctx context.Context, id execution.ID, lease LeaseRef) (Execution, error)
	// Finish ends the execution and derives and writes the terminal event. Completed takes an outcome, failed a
	// failure, canceled neither; else ErrConflict. The claim and the interaction end with it.
	Finish(ctx context.Context, hold Hold, expected []execution.State, end Ending) (Mutation, error)
	// TransitionWithEvent moves the state and writes the event that belongs to the move, in one write. A payload that
	// does not belong to next is ErrConflict; outcome and failure only with a terminal next.
	TransitionWithEvent(ctx context.Context, hold Hold, expected []execution.State, end Ending,
		payload execution.Payload) (Mutation, error)
	// AppendEvent writes an event without a change of state. A full log is ErrLimit.
	AppendEvent(ctx context.Context, hold Hold, payload execution.Payload) (execution.Event, error)
	// BeginInteraction opens an interaction and parks the execution: state waiting_for_input, interaction_required, the
	// claim ends. A request id that was answered before, or another open interaction, is ErrConflict.
	BeginInteraction(ctx context.Context, hold Hold, interaction execution.Interaction) (Mutation, error)
	// CommitInteractionInput: see Commands.
	CommitInteractionInput(ctx context.Context, id execution.ID, input InteractionInput) (Mutation, error)
	// CompleteInteraction says that the answer was used: the interaction is closed and its inbox entry deleted. Closed
	// already with a receipt of that request id is fine; unanswered or unknown is ErrConflict. No event.
	CompleteInteraction(ctx context.Context, hold Hold, request execution.RequestID) (Execution, error)
	// Events: see Reader.
	Events(ctx context.Context, id execution.ID, after execution.Sequence, limit int) ([]execution.Event, error)
}

// Ending is a next state and what belongs to it.
type Ending struct {
	State   execution.State
	Outcome *execution.Outcome
	Failure *execution.Failure
}

// Store is the whole contract.
type Store interface {
	ExecutionJournal
	Steps
	Commands
	Recovery
	Reader
	Lister
	Inspector
	Definitions
	PushConfigs
	Feed
}
