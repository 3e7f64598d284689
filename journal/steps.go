package journal

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Steps is the role of a worker: claim a step, work on it, commit it.
//
// Every method but Claim is fenced: its first guard is the fence, and a refused holder always reads ErrFenced. Every
// method may be repeated after ErrUnavailable with the very same arguments: it answers as it did before and writes
// nothing (Claim by its nonce, Commit by fence and last step, Record by call id, Renew and Release by operation number).
type Steps interface {
	// Claim grants the right to run the node after step task.Step. It is granted only when the execution is queued or
	// running, its conversation's active one, at that very step, past its not-before, without a live claim (the caller's
	// own included) and without a recorded cancel or pause; else the error is *ClaimRefused, ErrNotFound or
	// ErrUnavailable. The first claim writes execution_started; a claim after one that ran out counts a reclaim and
	// writes a warning. A recorded cancel or pause takes effect in the call, and so does quarantine.
	Claim(ctx context.Context, request ClaimRequest) (Claimed, error)

	// Spawn stores a child of the execution: its row, checkpoint 0, execution_queued, and its entry among the parent's
	// children, in one write. It is repeated by the child's id. A recorded cancel is ErrState, one child more than
	// MaxChildren ErrLimit, a conversation that is there, another caller or an id that is taken ErrConflict, a child that
	// was purged since ErrGone; short of memory it is ErrOverloaded. Hold.Operation is not looked at. Tasks of the answer are
	// to be enqueued.
	Spawn(ctx context.Context, spawn Spawn) (Reservation, error)

	// Renew moves the claim's expiry to now + ttl. After a recorded cancel it extends no claim past 5 s from the cancel.
	Renew(ctx context.Context, hold Hold, ttl time.Duration) (Renewed, error)

	// Record writes ledger entries: started marks (before an unsafe or reconcile call is sent) or receipts. A call that
	// has its receipt keeps it; the answer carries the entries that are stored. A started mark is refused with ErrState
	// after a recorded cancel, and with ErrConflict when another claim has marked the call.
	Record(ctx context.Context, record Record) (Recorded, error)

	// Commit writes checkpoint Step+1 and everything that belongs to it, and ends the claim unless it keeps it. With earlier
	// boundaries it writes these first, all or nothing: what is stored is what a commit of each would have left. A recorded
	// cancel or pause takes effect in the same write, after what was committed; a cancel wins over the terminal event. It
	// returns ErrFenced, ErrLimit when the log is full, ErrState or ErrUnavailable. Tasks of the answer are to be enqueued.
	Commit(ctx context.Context, commit Commit) (Committed, error)

	// Release ends the claim without advancing: handed back, to be retried later, or suspended. No reclaim is counted. A
	// recorded cancel or pause takes effect in the same write. Tasks of the answer are to be enqueued.
	Release(ctx context.Context, release Release) (Committed, error)

	// Requests reads, in one round trip, whether cancel or pause was recorded for, or a newer fence given to, each hold.
	// Superseded is set for a hold whose fence is not the current one, or whose row cannot be read. It writes nothing.
	Requests(ctx context.Context, holds []Hold) ([]Request, error)
}

// Hold is what a holder shows with every call. Operation must be higher than that of the claim's last call, and equal
// when a call is repeated; Commit, Record and Spawn do not look at it.
type Hold struct {
	Execution execution.ID
	Fence     Fence
	Operation Operation
}

// ClaimRequest asks for a claim.
type ClaimRequest struct {
	Execution execution.ID
	Step      *execution.Step // nil: whatever step the execution stands at
	Worker    WorkerID
	Nonce     string // random per attempt, at most 32 characters of [A-Za-z0-9]
	TTL       time.Duration
	// MaxReclaims suspends the execution, quarantined, at the claim that would be one reclaim more. 0: no bound.
	MaxReclaims int
	// KnownMessages is how many messages of the conversation the caller has cached; the answer carries the rest.
	KnownMessages int
	// History asks for the history even if the newest checkpoint does not: a later node under the claim may read it.
	History bool
}

// Claimed is a granted claim and what the node needs. Execution is a part of the row: see Execution.ForNode.
type Claimed struct {
	Execution  Execution
	Fence      Fence
	Reclaimed  bool // an earlier claim of this step had run out
	Checkpoint []byte
	Ledger     []LedgerEntry // of the batch that the newest checkpoint names, in its order
	Inbox      []InboxEntry
	// Messages is the conversation's history from KnownMessages on, until ClaimHistoryBytes are reached; nil unless the
	// newest checkpoint or the caller asked for it. The rest is to be read in pages, so that no claim takes long.
	Messages [][]byte
	// HistoryLength is the number of messages in the history; 0 unless the newest checkpoint or the caller asked for it.
	HistoryLength int
	// NowMs is the store's clock at the claim.
	NowMs int64
}

// ClaimHistoryBytes is how much of a history comes with a claim: messages follow until their sum has reached it.
const ClaimHistoryBytes = 4 << 20

// LedgerState is how far a tool call has come.
type LedgerState string

// The states of a ledger entry.
const (
	Planned LedgerState = "planned" // intent written
	Started LedgerState = "started" // about to be sent; only for calls that may not be repeated blindly
	Done    LedgerState = "done"    // receipt written
)

// LedgerEntry is one tool call in the ledger. Intent is written by the commit that plans the call, Receipt when it is
// done. StartedFence is the fence under which it was marked started.
type LedgerEntry struct {
	CallID       execution.CallID
	State        LedgerState
	StartedFence Fence
	Intent       []byte
	Receipt      []byte
}

// InboxEntry is a result that arrived for a parked execution.
type InboxEntry struct {
	RequestID execution.RequestID
	Payload   []byte
}

// Renewed is the answer of Renew.
type Renewed struct {
	CancelRequested bool
	PauseRequested  bool
	// TTL is how long the claim now lasts; shorter than asked for after a cancel.
	TTL time.Duration
}

// Renewals is what a Steps may offer besides: many renewals in one round trip.
type Renewals interface {
	// RenewAll is Renew for each hold, with an answer for each, in their order.
	RenewAll(ctx context.Context, holds []Hold, ttl time.Duration) []RenewAnswer
}

// RenewAnswer is the answer to one renewal of many. Err is as that of Renew.
type RenewAnswer struct {
	Renewed
	Err error
}

// Request is what was recorded for a hold.
type Request struct {
	CancelRequested bool
	PauseRequested  bool
	Superseded      bool
}

// Record writes the ledger entries of one state. Receipts carry their events.
type Record struct {
	Hold
	State    LedgerState // Started or Done
	Calls    []execution.CallID
	Receipts [][]byte // one for each call, when State is Done
	Events   []execution.Payload
	Usage    *execution.Usage // replaces the row's usage when not nil
	// Blobs are the large values that the receipts name. They are written with the receipts or, when every call has its
	// receipt already, not at all.
	Blobs []Blob
}

// Recorded is the answer of Record: the entries as stored, in the order of Calls.
type Recorded struct {
	Entries         []LedgerEntry
	Replayed        bool
	CancelRequested bool
}

// Plan is a call that a commit plans. It replaces an entry of the same call without receipt.
type Plan struct {
	CallID execution.CallID
	Intent []byte
}

// Commit is one step, or a chain of steps of which all but the last one went on without a write of their own.
type Commit struct {
	Hold
	Step execution.Step // N: the commit writes checkpoint N+1, the first of the chain
	// Earlier are the boundaries before the one of this commit, oldest first, at most MaxEarlier.
	Earlier    []Boundary
	Node       string // boundary of the last checkpoint
	Checkpoint []byte
	Messages   [][]byte
	Plan       []Plan
	// Batch names the calls whose ledger entries the next node needs, in order. They are open: when the execution ends before
	// a commit without them, each is answered in the history, see Sealed. Ids are Pawl's own, call_<turn>_<i>.
	Batch  []execution.CallID
	Events []execution.Payload // before those that Then implies
	Usage  execution.Usage
	// Consumed are inbox entries this step used; they are deleted. The interaction is closed with its entry.
	Consumed     []execution.RequestID
	ReadsHistory bool // the next node needs the conversation's history
	// ClaimedAtMs is Claimed.NowMs of the hold's claim, for those who look at the checkpoints later; 0: not known.
	ClaimedAtMs int64
	// Cleanup is what must be undone outside if the execution ends (see Execution.Cleanup), from this step on. nil: as it is;
	// empty: nothing any more.
	Cleanup *[]byte
	Then    Then
	// Keep keeps the claim for so long from the commit on, for the next node: same fence, no task, due when it expires. 0
	// ends it. It is kept only when Then continues and neither cancel nor pause is recorded; the answer says whether it was.
	Keep time.Duration
}

// Boundary is a step whose write waited for a later one, and which only went on. The ledger entries and the history that
// the node behind it needed were known without another read.
type Boundary struct {
	Checkpoint []byte
	Messages   [][]byte
	Plan       []Plan
	Events     []execution.Payload
	Consumed   []execution.RequestID
}

// MaxEarlier bounds how many boundaries one commit writes besides its own.
const MaxEarlier = 63

// Reaches is the step at which the execution stands after the commit.
func (c *Commit) Reaches() execution.Step { return c.Step + execution.Step(len(c.Earlier)) + 1 }

// AllMessages lists the messages of the boundaries of the commit.
func (c *Commit) AllMessages() [][]byte {
	if len(c.Earlier) == 0 {
		return c.Messages
	}
	var all [][]byte
	for i := range c.Earlier {
		all = append(all, c.Earlier[i].Messages...)
	}
	return append(all, c.Messages...)
}

// AllConsumed lists the inbox entries that the boundaries of the commit used.
func (c *Commit) AllConsumed() []execution.RequestID {
	if len(c.Earlier) == 0 {
		return c.Consumed
	}
	var all []execution.RequestID
	for i := range c.Earlier {
		all = append(all, c.Earlier[i].Consumed...)
	}
	return append(all, c.Consumed...)
}

// ThenKind is what follows a commit.
type ThenKind string

// What follows a commit.
const (
	ThenContinue ThenKind = "continue" // the next node is runnable now
	ThenPark     ThenKind = "park"     // wait for input, a child, a remote task or a time
	ThenSuspend  ThenKind = "suspend"
	ThenEnd      ThenKind = "end" // completed or failed; finalizing when something must be cleaned up
)

// Then says what follows a commit. The terminal and the suspended event are derived from it.
type Then struct {
	Kind ThenKind
	// Park: what is waited for. An Interaction makes the state waiting_for_input and writes interaction_required. Await
	// names the inbox entries waited for: once all of them are there, the execution goes on, at once when they already are.
	// An interaction waits for its own answer alone. Wait is how long until somebody looks, 0 for no bound; an interaction
	// has its own ExpiresAtMs.
	Interaction *execution.Interaction
	WaitKind    execution.WaitKind
	Await       []execution.RequestID
	Wait        time.Duration
	// Suspend
	Suspension execution.Suspension
	// End: exactly one of them.
	Outcome *execution.Outcome
	Failure *execution.Failure
}

// Release ends a claim without advancing. At most one of Retry and Suspension is set; with none the step is runnable at
// once.
type Release struct {
	Hold
	Retry      *Retry
	Suspension *execution.Suspension
	// Unsent are calls that this claim marked started and that certainly had no effect (refused before the request was
	// written, or with "try later"): each goes back to planned, unless it has its receipt or another claim's mark.
	Unsent []execution.CallID
	Usage  *execution.Usage // replaces the row's usage when not nil
}

// Retry schedules the failed node again. It raises Attempts and writes retry_scheduled, with the beginning of Message.
type Retry struct {
	Node    string
	Code    string
	Message string // what failed; may be empty
	After   time.Duration
}

// Committed is the answer of Commit and Release: the row's step and state after it, and the tasks to enqueue.
type Committed struct {
	Step     execution.Step
	State    execution.State
	Sequence execution.Sequence
	Tasks    []execution.Task
	// Kept: the claim goes on, for the Keep of the commit from the moment that it was written, which may be long ago when
	// Replayed.
	Kept     bool
	Replayed bool
}
