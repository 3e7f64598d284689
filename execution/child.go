package execution

import (
	"crypto/sha256"
	"fmt"

	"github.com/oklog/ulid/v2"
)

// Parent names the tool call of another execution that a child answers.
type Parent struct {
	Execution ID     `json:"executionId"`
	Call      CallID `json:"callId"`
}

// Child is an execution that a tool call of another one started, and where it stands. State is empty once the child was
// deleted or purged; so is Agent then.
type Child struct {
	ID    ID     `json:"executionId"`
	Call  CallID `json:"callId"`
	Agent string `json:"agent"`
	State State  `json:"state"`
}

// ChildID is the id of the child that answers a call: the same however often the call is carried out, in the partition of the
// parent.
func ChildID(parent ID, call CallID) ID {
	return ID(executionPrefix + childTail("execution", parent, call))
}

// ChildConversationID is the conversation of that child, in the same partition.
func ChildConversationID(parent ID, call CallID) ConversationID {
	return ConversationID(conversationPrefix + childTail("conversation", parent, call))
}

// ChildRequest is the name of the inbox entry that brings the parent a child's result.
func ChildRequest(call CallID) RequestID { return RequestID("child:" + string(call)) }

func childTail(kind string, parent ID, call CallID) string {
	sum := sha256.Sum256([]byte("child " + kind + "\x00" + string(parent) + "\x00" + string(call)))
	var id ulid.ULID
	copy(id[:], sum[:16])
	id[0] &= 0x7f // a ULID's first character is at most 7
	return fmt.Sprintf("%02d%s", int(parent.Partition()), id)
}
