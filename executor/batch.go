package executor

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/execution"
)

// CallStatus is where a call of a batch stands.
type CallStatus string

// The statuses of a call. Its intent and its result are in the ledger.
const (
	CallOutstanding CallStatus = "outstanding" // to be run
	CallAsking      CallStatus = "asking"      // a person is or will be asked
	CallDelegated   CallStatus = "delegated"   // an execution of its own carries it out
	CallReturned    CallStatus = "returned"    // its receipt is in the ledger
)

// Batch is the tool calls of one model response, in the response's order.
type Batch struct {
	ID    string      `json:"id"` // tool_batch_<turn>
	Calls []BatchCall `json:"calls"`
	// Asked is the interaction that is open; nil when none is.
	Asked *Asked `json:"asked,omitempty"`
}

// BatchCall is one call of a batch.
type BatchCall struct {
	CallID   execution.CallID `json:"callId"`
	Name     string           `json:"name"`
	Status   CallStatus       `json:"status"`
	Question *Question        `json:"question,omitempty"` // while asking
	// Approved is the hash of the arguments that a person approved: with these the call is not asked about again, whatever
	// becomes of the worker that sends it.
	Approved string `json:"approved,omitempty"`
	// Edited says that a person changed the arguments.
	Edited bool `json:"edited,omitempty"`
	// Reply goes with the call to the tool, which asked and wants the answer back.
	Reply *Reply `json:"reply,omitempty"`
	// Child is the execution that carries the call out, while it does.
	Child *Child `json:"child,omitempty"`
}

// Question is what a call asks.
type Question struct {
	Kind           execution.InteractionKind `json:"kind"`
	Reason         string                    `json:"reason,omitempty"`
	Prompt         string                    `json:"prompt"`
	ExpiresAfterMs int64                     `json:"expiresAfterMs,omitempty"`
	OnExpiry       execution.OnExpiry        `json:"onExpiry,omitempty"`
	// ExpiresAtMs is set when the question is asked first: asking again does not begin its time anew.
	ExpiresAtMs int64 `json:"expiresAtMs,omitempty"`
	// Gate says that the call has not been sent: to approve is to send it.
	Gate bool `json:"gate,omitempty"`
	// Note says why the question is asked again.
	Note string `json:"note,omitempty"`
	// Schema is that of the answer's content; Resume sends the answer back to the tool, together with State.
	Schema json.RawMessage `json:"schema,omitempty"`
	Resume bool            `json:"resume,omitempty"`
	State  json.RawMessage `json:"state,omitempty"`
}

// Reply is a person's answer on its way back to the tool that asked.
type Reply struct {
	State    json.RawMessage `json:"state,omitempty"`
	Text     string          `json:"text,omitempty"`
	Content  json.RawMessage `json:"content,omitempty"`
	Declined bool            `json:"declined,omitempty"`
}

// Asked is the open interaction: its id and the calls it is about.
type Asked struct {
	RequestID execution.RequestID `json:"requestId"`
	Calls     []execution.CallID  `json:"calls"`
}

// callIDs lists the calls in order; nil for no batch.
func (b *Batch) callIDs() []execution.CallID {
	if b == nil {
		return nil
	}
	ids := make([]execution.CallID, len(b.Calls))
	for i, call := range b.Calls {
		ids[i] = call.CallID
	}
	return ids
}

// call finds a call; nil when the batch has none of that id.
func (b *Batch) call(id execution.CallID) *BatchCall {
	for i := range b.Calls {
		if b.Calls[i].CallID == id {
			return &b.Calls[i]
		}
	}
	return nil
}

// ask puts a question about the call; a reply to an earlier one is used up.
func (c *BatchCall) ask(question *Question) {
	c.Status, c.Question, c.Reply = CallAsking, question, nil
}

// run makes the call one to be run (again), with the reply, if any, to the tool's question.
func (c *BatchCall) run(reply *Reply) {
	c.Status, c.Question, c.Reply = CallOutstanding, nil, reply
}

// returned notes that the call has its receipt.
func (c *BatchCall) returned() {
	c.Status, c.Question, c.Reply, c.Child, c.Approved = CallReturned, nil, nil, nil, ""
}

// in lists the calls of a status, in order; nil for no batch.
func (b *Batch) in(status CallStatus) []execution.CallID {
	var ids []execution.CallID
	if b == nil {
		return nil
	}
	for _, call := range b.Calls {
		if call.Status == status {
			ids = append(ids, call.CallID)
		}
	}
	return ids
}

// asking counts the calls that wait for an approval and those that wait for anything else.
func (b *Batch) asking() (approvals, others int) {
	if b == nil {
		return 0, 0
	}
	for _, call := range b.Calls {
		switch {
		case call.Status != CallAsking || call.Question == nil:
		case call.Question.Kind == execution.Approval:
			approvals++
		default:
			others++
		}
	}
	return approvals, others
}

// clone copies the batch in full.
func (b *Batch) clone() *Batch {
	if b == nil {
		return nil
	}
	out := &Batch{ID: b.ID, Calls: slices.Clone(b.Calls)}
	for i, call := range out.Calls {
		if call.Question != nil {
			question := *call.Question
			out.Calls[i].Question = &question
		}
		if call.Reply != nil {
			reply := *call.Reply
			out.Calls[i].Reply = &reply
		}
		if call.Child != nil {
			child := *call.Child
			out.Calls[i].Child = &child
		}
	}
	if b.Asked != nil {
		out.Asked = &Asked{RequestID: b.Asked.RequestID, Calls: slices.Clone(b.Asked.Calls)}
	}
	return out
}
