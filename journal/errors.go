package journal

import (
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// The refusals of a journal. A refusal changes no key. Every implementation wraps them with the operation and the id.
var (
	// ErrNotFound: there is no such execution (or conversation, or definition).
	ErrNotFound = errors.New("execution not found")
	// ErrNoConversation: there is no such conversation of the tenant, and none is opened under a minted id (see
	// NewExecution.Continues). It is an ErrNotFound.
	ErrNoConversation = fmt.Errorf("%w: no such conversation", ErrNotFound)
	// ErrFenced: the caller's fence is not the execution's current one. The caller must stop at once; somebody else owns
	// the execution, or it has ended.
	ErrFenced = errors.New("fenced: the claim was superseded")
	// ErrConflict: the call contradicts what is stored.
	ErrConflict = errors.New("journal state conflict")
	// ErrState: the state table has no such move. It is a conflict.
	ErrState = fmt.Errorf("%w: not in this state", ErrConflict)
	// ErrConversationBusy: the conversation has an active execution. It is a conflict.
	ErrConversationBusy = fmt.Errorf("%w: the conversation has an active execution", ErrConflict)
	// ErrKeyReused: the idempotency key belongs to another request. It is a conflict.
	ErrKeyReused = fmt.Errorf("%w: the idempotency key was used for another request", ErrConflict)
	// ErrGone: the execution that the idempotency key named was deleted. It is a conflict.
	ErrGone = fmt.Errorf("%w: the idempotency key's execution was deleted", ErrConflict)
	// ErrCleanupOpen: the execution's delegation is not cleaned up yet. It is a conflict.
	ErrCleanupOpen = fmt.Errorf("%w: the delegation is not cleaned up", ErrConflict)
	// ErrInteractionClosed: the interaction is not open, or was answered otherwise. It is a conflict.
	ErrInteractionClosed = fmt.Errorf("%w: the interaction is closed", ErrConflict)
	// ErrLimit: a bound of the store would be passed (events of one execution, waiting executions of one conversation).
	ErrLimit = errors.New("journal limit reached")
	// ErrOverloaded: the store is short of memory and takes no new work.
	ErrOverloaded = errors.New("journal is short of memory")
	// ErrUnavailable: the store did not answer. The write may have happened: repeat the very same call.
	ErrUnavailable = errors.New("journal unavailable")
)

// ClaimReason says why a claim was not granted.
type ClaimReason string

// The reasons for which a claim is not granted. All but the last four write nothing and leave nothing to do.
const (
	ClaimStale       ClaimReason = "stale"       // the execution is past that step
	ClaimAhead       ClaimReason = "ahead"       // the execution is not at that step yet
	ClaimBusy        ClaimReason = "busy"        // a live claim holds it, the caller's own included
	ClaimEarly       ClaimReason = "early"       // its not-before has not come; RetryAfter says how long
	ClaimState       ClaimReason = "state"       // neither queued nor running
	ClaimUndelegated ClaimReason = "undelegated" // its delegation has not come yet
	ClaimTurn        ClaimReason = "turn"        // another execution of its conversation is active
	ClaimOverloaded  ClaimReason = "overloaded"  // the store is short of memory; try again later
	ClaimEnded       ClaimReason = "ended"       // a recorded cancel ended it in this call
	ClaimPaused      ClaimReason = "paused"      // a recorded pause suspended it in this call
	ClaimQuarantine  ClaimReason = "quarantined" // it was reclaimed too often and suspended in this call
)

// ClaimRefused is the error of a claim that was not granted. It wraps ErrConflict, or ErrOverloaded. Tasks are to be
// enqueued whatever the reason.
type ClaimRefused struct {
	Reason     ClaimReason
	RetryAfter time.Duration
	Tasks      []execution.Task
}

// Error says the reason.
func (e *ClaimRefused) Error() string { return "claim not granted: " + string(e.Reason) }

// Unwrap makes a refused claim a conflict, or an overload.
func (e *ClaimRefused) Unwrap() error {
	if e.Reason == ClaimOverloaded {
		return ErrOverloaded
	}
	return ErrConflict
}
