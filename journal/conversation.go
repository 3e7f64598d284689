package journal

import (
	"github.com/pawl-run/pawl/execution"
)

// Bounds of a conversation.
const (
	// MaxParts is of how many parts a history may be put together: a fork adds one, and a rollback behind messages that stay.
	MaxParts = 1000
	// MaxInherited is how many messages an execution may wait with that those which it interrupted in the line had brought.
	MaxInherited = 1000
)

// Fork says from where a new execution goes on: its conversation is new too and begins with the history of another one.
type Fork struct {
	From execution.Origin
	// Length is how many messages of the other one's history are taken. With Own it counts from where the part begins that
	// the other one added, with Whole it does not count: the history is taken up to the end of that part.
	Length     int
	Own, Whole bool
	// ReadsHistory says that the node behind checkpoint 0 needs the history.
	ReadsHistory bool
}

// Sealed is the message that a journal appends for a call of the batch that is open when its execution ends, so that its
// history stays one that a model can be sent:
//
//	{"role":"tool","sealed":{"callId":"<call>","intent":<intent>,"receipt":<receipt>},"executionId":"<id>"}
//
// Intent and receipt are what the ledger holds of the call, JSON that is passed on as it is; what is empty is left out.
// Ids are Pawl's own and need no escaping. What the message says is for its reader to make of it.
func Sealed(id execution.ID, call execution.CallID, intent, receipt []byte) []byte {
	message := append([]byte(`{"role":"tool","sealed":{"callId":"`), call...)
	message = append(message, '"')
	if len(intent) > 0 {
		message = append(append(message, `,"intent":`...), intent...)
	}
	if len(receipt) > 0 {
		message = append(append(message, `,"receipt":`...), receipt...)
	}
	message = append(append(message, `},"executionId":"`...), id...)
	return append(message, `"}`...)
}
