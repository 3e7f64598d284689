package journal

import (
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// Bounds of a conversation.
const (
	// MaxParts is of how many parts a history may be put together: a fork adds one, and a rollback behind messages that stay.
	MaxParts = 1000
	// MaxInherited is how many messages an execution may wait with that those which it interrupted in the line had brought.
	MaxInherited = 1000
)

// ConversationName is the name that a store keeps a conversation under. A minted id is a name by itself. An id that a
// client chose is one of its tenant's: the name is "<id>/<tenant>", in which every byte of the tenant but letters, digits
// and . _ - is written %xx. Ids have no slash and no percent sign, so no two conversations have the same name.
func ConversationName(tenant string, id execution.ConversationID) string {
	if id.Minted() {
		return string(id)
	}
	return string(id) + "/" + escapeTenant(tenant)
}

func escapeTenant(tenant string) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(tenant))
	for i := range len(tenant) {
		switch c := tenant[i]; {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
			b.WriteByte(c)
		default:
			b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
		}
	}
	return b.String()
}

// NamedConversation is the id in a name.
func NamedConversation(name string) execution.ConversationID {
	id, _, _ := strings.Cut(name, "/")
	return execution.ConversationID(id)
}

// Continues reports whether a submission may only go on with a conversation that is there, and is its tenant's: nobody
// opens one under an id that Pawl mints. What another tenant has and what nobody has are refused alike.
func (n *NewExecution) Continues() bool { return n.Request.ConversationID.Minted() }

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
