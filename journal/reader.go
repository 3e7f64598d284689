package journal

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// Reader is the role of everybody who looks. It writes nothing.
type Reader interface {
	// Get returns the row, or ErrNotFound.
	Get(ctx context.Context, id execution.ID) (Execution, error)
	// Events returns at most limit events with a sequence above after, ascending; ErrNotFound for an unknown id. One that is
	// stored and cannot be read is in its place as an execution.UnreadableEvent: it hides no other one.
	Events(ctx context.Context, id execution.ID, after execution.Sequence, limit int) ([]execution.Event, error)
	// EventPage is Events with the log's last sequence and the row's state, read in one step.
	EventPage(ctx context.Context, id execution.ID, after execution.Sequence, limit int) (EventPage, error)
	// LastSequences returns the last sequence of each execution's log, in their order, in few round trips: 0 for one that
	// does not exist, or cannot be read.
	LastSequences(ctx context.Context, ids []execution.ID) ([]execution.Sequence, error)
	// Checkpoints returns at most limit checkpoints from step from on, ascending.
	Checkpoints(ctx context.Context, id execution.ID, from execution.Step, limit int) ([]StoredCheckpoint, error)
	// Messages returns at most limit messages of the execution's conversation from index from on.
	Messages(ctx context.Context, id execution.ID, from, limit int) ([][]byte, error)
	// Ledger returns the entries of the given calls, in their order; a call without entry gives one without state.
	Ledger(ctx context.Context, id execution.ID, calls []execution.CallID) ([]LedgerEntry, error)
	// Children returns the children that the execution spawned, in that order; ErrNotFound for an unknown id. It costs a look
	// at each of them.
	Children(ctx context.Context, id execution.ID) ([]Child, error)
	// Blob returns the content of a large value stored beside the execution. ErrNotFound when the execution has none of
	// that hash.
	Blob(ctx context.Context, id execution.ID, hash string) ([]byte, error)
}

// StoredCheckpoint is a checkpoint and when it was written.
type StoredCheckpoint struct {
	Data []byte
	// AtMs is the store's clock at the write. The boundaries that one commit wrote share it. 0: what is stored cannot be read,
	// and Data is all of it.
	AtMs int64
	// ClaimedAtMs is when the claim was given under which it was written: never above AtMs. 0: it was written under none
	// (Reserve, Spawn), or the commit did not say.
	ClaimedAtMs int64
}

// EventPage is a page of the log, where the execution stood when it was read, and whose it is.
type EventPage struct {
	Events []execution.Event
	Last   execution.Sequence
	State  execution.State
	Caller execution.CallerScope
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
	// FollowAll subscribes to every execution; the subscription is in force when FollowAll returns. Close it.
	FollowAll(ctx context.Context) (WideSubscription, error)
	// PublishFrame sends a frame to those who follow the execution now, and says how many processes are known to: when that
	// grows, somebody is new. A store of several servers may know of fewer than there are.
	PublishFrame(ctx context.Context, id execution.ID, frame execution.Frame) (listeners int, err error)
	// FollowRequests subscribes to the cancels and pauses recorded for executions that the worker holds, and to the claims
	// that were taken back from it.
	FollowRequests(ctx context.Context, worker WorkerID) (RequestSubscription, error)
}

// Subscription delivers signals until it is closed, in the order in which they came. A slow receiver loses frames, never the
// fact that something changed.
type Subscription interface {
	// Signals is closed by Close, and never before.
	Signals() <-chan Signal
	Close() error
}

// Signal says that the execution changed, or carries a frame.
type Signal struct {
	Frame *execution.Frame // nil: something changed
	// First and Last are the sequences of the first and the last event that the change wrote; 0 when it wrote none.
	First, Last execution.Sequence
	// Missed: signals before this one may be lost, so only the log says what there is.
	Missed bool
}

// WideSubscription delivers the signals of every execution until it is closed; those of one execution in the order in which
// they came. A receiver that is too slow loses signals and is told so by one that is Missed.
type WideSubscription interface {
	// Signals is closed by Close, and never before.
	Signals() <-chan WideSignal
	Close() error
}

// WideSignal is a signal of one execution. One without execution says that signals of any may be lost (Missed).
type WideSignal struct {
	Execution execution.ID
	Signal
}

// RequestSubscription delivers the ids of held executions for which cancel or pause was recorded.
type RequestSubscription interface {
	Requests() <-chan execution.ID
	Close() error
}
