package execution

import "encoding/json"

// CallState is how far a tool call has come in the ledger.
type CallState string

// The states of a tool call.
const (
	CallPlanned CallState = "planned" // its intent is written
	CallStarted CallState = "started" // it is about to be sent, or was; calls that may be sent again are never marked so
	CallDone    CallState = "done"    // its receipt is written
)

// Recovery is the recovery class of a tool: what becomes of a call without a receipt when the worker that sent it is gone.
type Recovery string

// The recovery classes.
const (
	RecoveryReadOnly   Recovery = "read_only"  // it is sent again
	RecoveryIdempotent Recovery = "idempotent" // it is sent again with the same effect id
	RecoveryReconcile  Recovery = "reconcile"  // the tool's status probe is asked what has become of it
	RecoveryUnsafe     Recovery = "unsafe"     // it is not sent again by itself
)

// LedgerEntry is a tool call as the ledger has it. Of an entry that this release cannot read in part, the rest is there.
type LedgerEntry struct {
	CallID CallID `json:"callId"`
	Name   string `json:"name"`
	// EffectID is the name under which the tool sees the call, however often it is sent.
	EffectID string    `json:"effectId"`
	State    CallState `json:"state"`
	// Recovery is the recovery class of the tool in the execution's own definition; empty where that does not say it, as of a
	// tool whose class is up to the hints of its MCP server.
	Recovery Recovery `json:"recovery,omitempty"`
	// OutcomeUnknown: it was started, has no receipt, and the open question asks what has become of it.
	OutcomeUnknown bool `json:"outcomeUnknown,omitempty"`
	// Sequence is that of the call's tool_started event, which was written when the call was planned: at PlannedAtMs.
	Sequence    Sequence `json:"sequence"`
	PlannedAtMs int64    `json:"plannedAtMs"`
	// DoneAtMs is when the receipt was written; 0 before, and when the log says it only far behind the page (more than a few
	// hundred events).
	DoneAtMs int64 `json:"doneAtMs,omitempty"`
	// Arguments are those that the call has now: those that a person put in place of the model's, if somebody did.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Result is what the receipt says, as in the history: of a large one the head and tail, and the blob that has it whole.
	Result *ToolResult `json:"result,omitempty"`
	// Failed: the call is done, and its result is an error.
	Failed bool `json:"failed,omitempty"`
	// ChildID is the execution that the call started, if it started one.
	ChildID ID `json:"childId,omitempty"`
}

// ToolCallPage is a page of an execution's tool calls, in the order in which they were planned. NextAfter is how far the log
// was looked through: where the following page begins. A page may hold fewer calls than asked for, or none, although HasMore
// says that the log goes on.
type ToolCallPage struct {
	ToolCalls []LedgerEntry `json:"toolCalls"`
	NextAfter Sequence      `json:"nextAfter"`
	HasMore   bool          `json:"hasMore"`
	// Unreadable are the events of this part of the log that cannot be read, ascending: each may be of a call that is not listed.
	Unreadable []Sequence `json:"unreadable,omitempty"`
}
