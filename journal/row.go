package journal

import (
	"math"
	"time"

	"github.com/pawl-run/pawl/execution"
)

type (
	// WorkerID names one worker process; it is random per start.
	WorkerID string
	// Fence is "<counter>-<claim nonce>", compared whole. The counter grows with every claim and with every command that
	// takes a running execution from its holder.
	Fence string
	// Operation numbers the fenced calls of one claim, from 1. Repeating a call with its number answers as before.
	Operation uint64
)

// Claim is a holder's time-bounded right to run the next node. It has expired when ExpiresAtMs <= now.
type Claim struct {
	Worker      WorkerID `json:"workerId"`
	Fence       Fence    `json:"fence"`
	ExpiresAtMs int64    `json:"expiresAtMs"`
}

// Delegation is an opaque, revocable credential lease attached to an execution. LeaseRef never appears in a log; it is empty
// as long as the delegation is only intended.
type Delegation struct {
	LeaseRef         LeaseRef `json:"leaseRef"`
	ExpiresAtSeconds uint64   `json:"expiresAtSeconds"`
	Revision         uint64   `json:"revision"`
	CleanupComplete  bool     `json:"cleanupComplete"`
}

// Intended reports that the delegation is to come: nobody may claim the execution before its lease is there.
func (d *Delegation) Intended() bool { return d != nil && d.LeaseRef == "" }

// LeaseRef is the durable reference of a delegation; it cannot authenticate by itself. It prints redacted.
type LeaseRef string

// String hides the reference.
func (LeaseRef) String() string { return "[redacted]" }

// GoString hides the reference.
func (LeaseRef) GoString() string { return "[redacted]" }

// InputReceipt lets a repeated input return the very same event.
type InputReceipt struct {
	RequestID     execution.RequestID `json:"requestId"`
	ResponseText  string              `json:"responseText"`
	EventSequence execution.Sequence  `json:"eventSequence"`
}

// Execution is the whole row.
type Execution struct {
	ID             execution.ID
	ConversationID execution.ConversationID
	Caller         execution.CallerScope
	IdempotencyKey string
	Agent          string
	Definition     string // hash of the agent's definition
	Request        execution.CreateRequest
	Overrides      []byte // what NewExecution brought; nil: nothing
	Priority       execution.Priority
	Queue          string

	State      execution.State
	Node       string // boundary of the newest checkpoint
	Step       execution.Step
	Version    uint64 // counts changes a client can see
	Wait       *execution.Wait
	Suspension *execution.Suspension
	Usage      execution.Usage
	Outcome    *execution.Outcome
	Failure    *execution.Failure

	Claim              *Claim // nil when nobody holds it; may have expired
	PendingInteraction *execution.Interaction
	InputReceipts      map[execution.OperationID]InputReceipt
	Delegation         *Delegation

	Wake            execution.Wake
	NotBeforeMs     int64 // 0: no bound
	Attempts        int   // failed attempts at this step
	Reclaims        int   // reclaims at this step
	ReclaimWorkers  []WorkerID
	CancelRequested bool
	PauseRequested  bool
	Active          bool // it is its conversation's active execution
	// HistoryStart and HistoryEnd bound the part of its conversation's history that the execution added, as indexes of
	// Reader.Messages. What it sees is the history up to HistoryEnd: 0 until its turn has come.
	HistoryStart, HistoryEnd int
	ForkedFrom               *execution.Origin // nil: it is no fork
	Parent                   *Parent           // nil: it is no child
	Children                 int               // how many it has spawned
	// Cleanup is what must be undone outside once the execution ends, a remote task for instance; opaque. Empty: nothing.
	Cleanup []byte

	CreatedAtMs  int64
	StartedAtMs  int64
	UpdatedAtMs  int64
	EndedAtMs    int64
	DeadlineAtMs int64 // 0: none, or not started
	LastSequence execution.Sequence
}

// ForNode is the part of a claimed row that a node works with; everything else is zero. A claim brings no more, so that it
// costs the same however great the request is and however often somebody has answered.
func (e *Execution) ForNode() Execution {
	return Execution{
		ID: e.ID, ConversationID: e.ConversationID, Definition: e.Definition, Queue: e.Queue, State: e.State, Node: e.Node,
		Step: e.Step, Usage: e.Usage, Claim: e.Claim, Wake: e.Wake, Attempts: e.Attempts, Reclaims: e.Reclaims,
		Active: e.Active, StartedAtMs: e.StartedAtMs, DeadlineAtMs: e.DeadlineAtMs, LastSequence: e.LastSequence,
		Overrides: e.Overrides, Cleanup: e.Cleanup, Delegation: e.Delegation,
	}
}

// View is what a client sees of the row.
func (e *Execution) View() execution.View {
	view := execution.View{
		ID: e.ID, Agent: e.Agent, ConversationID: e.ConversationID, ForkedFrom: e.ForkedFrom, Parent: e.Parent, State: e.State, Wait: e.Wait,
		CancelRequested: e.CancelRequested && !e.State.Terminal(),
		PauseRequested:  e.PauseRequested && e.State == execution.Running,
		Usage:           e.Usage, Metadata: e.Request.Metadata, Step: e.Step, Node: e.Node, Version: e.Version,
		CreatedAtMs: e.CreatedAtMs, StartedAtMs: e.StartedAtMs, UpdatedAtMs: e.UpdatedAtMs, EndedAtMs: e.EndedAtMs,
	}
	if e.Delegation != nil {
		expires := int64(min(e.Delegation.ExpiresAtSeconds, math.MaxInt64/1000)) * 1000 //nolint:gosec // it fits
		view.Delegation = &execution.DelegationView{ExpiresAtMs: expires, Revoked: e.Delegation.CleanupComplete}
	}
	if e.State.Terminal() { // a finalizing row keeps how it will end to itself
		view.Outcome, view.Failure = e.Outcome, e.Failure
	}
	if e.State == execution.WaitingForInput {
		view.Interaction = e.PendingInteraction
	}
	if e.State == execution.Suspended {
		view.Suspension = e.Suspension
		view.Interaction = e.PendingInteraction
	}
	return view
}

// NewExecution is what Reserve stores. ID and ConversationID are in one partition.
type NewExecution struct {
	ID             execution.ID
	ConversationID execution.ConversationID
	IdempotencyKey string // empty: none
	Fingerprint    string // of the normalized request; compared when the key is used again
	Caller         execution.CallerScope
	Request        execution.CreateRequest
	Definition     string
	Overrides      []byte        // what holds for this execution in place of its definition, opaque; empty: nothing
	Queue          string        // base queue; empty: the priority's own
	Deadline       time.Duration // from the start; 0: none
	Retention      time.Duration // how long it is kept after its end; 0: the store's
	Checkpoint     []byte        // checkpoint 0, boundary run_start unless the execution is a fork
	Node           string        // the name of that boundary
	Messages       [][]byte      // the user's message, appended to the conversation when the execution's turn comes
	Fork           *Fork         // nil: it is no fork
	Parent         *Parent       // nil: it is no child; see Spawn
	// Delegated says that a delegation is to come, without which nobody may claim it: see Commands.Delegate.
	Delegated bool
}

// Reservation is the answer of Reserve. Existing rows come back whatever their state. Tasks are to be enqueued.
type Reservation struct {
	Created   bool
	Execution Execution
	Tasks     []execution.Task
}

// Mutation is the answer of a call that writes an event. Replayed means that nothing was written and Event is the
// original one. Tasks are to be enqueued.
type Mutation struct {
	Execution Execution
	Event     execution.Event
	Replayed  bool
	Tasks     []execution.Task
}
