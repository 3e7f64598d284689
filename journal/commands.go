package journal

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Commands is the role of the API and of operators. A command's first guard is existence, then state. Commands are
// idempotent by their own key: idempotency key, operation id or target state. Tasks of an answer are to be enqueued.
type Commands interface {
	// Reserve stores a new execution, checkpoint 0, execution_queued and its due entry in one write. With an
	// idempotency key that the caller used before, it returns the existing row, or ErrKeyReused when the fingerprint
	// differs, or ErrGone when that row was deleted. Without onBusy "enqueue" a busy conversation is ErrConversationBusy; a
	// full waiting line is ErrLimit. It returns ErrOverloaded when the store is short of memory, ErrConflict when the
	// conversation belongs to another caller's tenant.
	Reserve(ctx context.Context, execution NewExecution) (Reservation, error)

	// CommitInteractionInput answers the open interaction. A receipt for the operation id comes first, even on a
	// terminal row: same request and text is replayed, anything else is ErrConflict. Else the state must be
	// waiting_for_input and the request id the open one, or the error is ErrInteractionClosed. Receipt, inbox entry,
	// state and interaction_received are one write.
	CommitInteractionInput(ctx context.Context, id execution.ID, input InteractionInput) (Mutation, error)

	// Cancel ends the execution, or records the request when a live claim holds it. On a terminal row it changes nothing
	// and Changed is false; so too when the request is recorded already. Finalizing is ErrState.
	Cancel(ctx context.Context, id execution.ID) (Change, error)

	// Pause suspends the execution with reason paused, or records the request when a live claim holds it. Suspended
	// already: nothing changes. Other states than queued, running and waiting_for_input are ErrState.
	Pause(ctx context.Context, id execution.ID) (Change, error)

	// Resume takes a suspended execution back to where it was, clears attempts and reclaims, and stores what the resumption
	// changes. Other open states: nothing changes. Terminal and finalizing are ErrState.
	Resume(ctx context.Context, id execution.ID, resumption Resumption) (Change, error)

	// TakeBack takes the claim from its holder, whether it still lasts or ran out: the fence is raised, the holder is told,
	// the step is runnable again, and a warning says so. No reclaim is counted. A recorded cancel ends the row, a recorded
	// pause suspends it. Without a claim, and in other open states, nothing changes. Terminal is ErrState.
	TakeBack(ctx context.Context, id execution.ID) (Change, error)

	// Delete deletes an execution that has ended, with all that only it needs; its idempotency key answers ErrGone until the
	// row would have been purged. An open execution is ErrState, one whose clean-up is not done ErrCleanupOpen.
	// Repeated, it is ErrNotFound.
	Delete(ctx context.Context, id execution.ID) error

	// Delegate attaches the lease for which the execution was reserved, and lets it run. The same lease again changes nothing;
	// another one is ErrConflict. An execution that has started or ended, or that was reserved without, is ErrState.
	Delegate(ctx context.Context, id execution.ID, delegation Delegation) (Change, error)

	// RefuseDelegation ends an execution, failed, that still waits for its delegation. What may have been made for it is
	// cleaned up. On a terminal row nothing changes; any other one is ErrState.
	RefuseDelegation(ctx context.Context, id execution.ID, failure execution.Failure) (Change, error)

	// CompleteDelegationCleanup marks the delegation revoked, or one that was only intended, which has no lease. It is accepted in finalizing (which it ends when nothing
	// else is open) and in terminal states, for the same lease; already complete changes nothing. Else ErrConflict.
	CompleteDelegationCleanup(ctx context.Context, id execution.ID, lease LeaseRef) (Execution, error)

	// CompleteCleanup says that what Execution.Cleanup told of is undone, and forgets it. It is accepted in finalizing (which
	// it ends when nothing else is open) and in terminal states, for equal bytes, else ErrConflict; already complete changes
	// nothing. Tasks of the answer are to be enqueued.
	CompleteCleanup(ctx context.Context, id execution.ID, cleanup []byte) (Change, error)

	// OpenExecutions counts the executions that have not ended. O(partitions), never O(executions).
	OpenExecutions(ctx context.Context) (int64, error)
}

// InteractionInput is an answer to an interaction. Response is opaque to the store and becomes the inbox entry.
type InteractionInput struct {
	OperationID execution.OperationID
	RequestID   execution.RequestID
	Response    string
}

// Resumption is what a resume changes. The zero value changes nothing.
type Resumption struct {
	Overrides []byte        // in place of those on the row; empty: unchanged
	Deadline  time.Duration // from the start of the execution, in place of the row's; 0: unchanged
}

// Change is the answer of a command. Pending says that a holder has still to carry it out.
type Change struct {
	Execution Execution
	Changed   bool
	Pending   bool
	Tasks     []execution.Task
}
