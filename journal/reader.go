package journal

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// Reader is the role of everybody who looks. It writes nothing.
type Reader interface {
	// Get returns the row, or ErrNotFound.
	Get(ctx context.Context, id execution.ID) (Execution, error)
	// Events returns at most limit events with a sequence above after, ascending; ErrNotFound for an unknown id.
	Events(ctx context.Context, id execution.ID, after execution.Sequence, limit int) ([]execution.Event, error)
	// EventPage is Events with the log's last sequence and the row's state, read in one step.
	EventPage(ctx context.Context, id execution.ID, after execution.Sequence, limit int) (EventPage, error)
	// Checkpoints returns at most limit checkpoints from step from on, ascending.
	Checkpoints(ctx context.Context, id execution.ID, from execution.Step, limit int) ([][]byte, error)
	// Messages returns at most limit messages of the execution's conversation from index from on.
	Messages(ctx context.Context, id execution.ID, from, limit int) ([][]byte, error)
	// Ledger returns the entries of the given calls, in their order; a call without entry gives one without state.
	Ledger(ctx context.Context, id execution.ID, calls []execution.CallID) ([]LedgerEntry, error)
	// Blob returns the content of a large value stored beside the execution. ErrNotFound when the execution has none of
	// that hash.
	Blob(ctx context.Context, id execution.ID, hash string) ([]byte, error)
}

// EventPage is a page of the log and where the execution stood when it was read.
type EventPage struct {
	Events []execution.Event
	Last   execution.Sequence
	State  execution.State
}

// Definitions stores agent definitions by content hash, once.
type Definitions interface {
	// PutDefinition stores the definition under its hash; storing it again changes nothing. ErrOverloaded: the store is full.
	PutDefinition(ctx context.Context, hash string, definition []byte) error
	// Definition returns the definition, or ErrNotFound.
	Definition(ctx context.Context, hash string) ([]byte, error)
}

// Feed is how a change reaches those who follow, across processes. It carries hints and frames, never truth: a
// follower reads the log when a hint comes, and from time to time without one.
type Feed interface {
	// Follow subscribes to an execution; the subscription is in force when Follow returns. Close it.
	Follow(ctx context.Context, id execution.ID) (Subscription, error)
	// PublishFrame sends a frame to those who follow the execution now.
	PublishFrame(ctx context.Context, id execution.ID, frame execution.Frame) error
	// FollowRequests subscribes to the cancels and pauses recorded for executions that the worker holds.
	FollowRequests(ctx context.Context, worker WorkerID) (RequestSubscription, error)
}

// Subscription delivers signals until it is closed. A slow receiver loses frames, never the fact that something changed.
type Subscription interface {
	// Signals is closed by Close, and never before.
	Signals() <-chan Signal
	Close() error
}

// Signal says that the execution changed, or carries a frame.
type Signal struct {
	Frame *execution.Frame // nil: something changed, read the log
}

// RequestSubscription delivers the ids of held executions for which cancel or pause was recorded.
type RequestSubscription interface {
	Requests() <-chan execution.ID
	Close() error
}
