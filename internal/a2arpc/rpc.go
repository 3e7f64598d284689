// Package a2arpc is what both sides of the A2A protocol 0.3 over JSON-RPC have in common here: how the version, the methods and
// the errors are written. backend/a2a asks with it, httpapi/a2a answers.
package a2arpc

// The versions, and the header that says in which version of the protocol a request speaks. Those of 0.3 may leave it out.
const (
	Version       = "2.0" // of JSON-RPC
	Spoken        = "0.3" // of the protocol
	HeaderVersion = "A2A-Version"
)

// The methods of protocol 0.3.
const (
	Send         = "message/send"
	Stream       = "message/stream"
	Get          = "tasks/get"
	Cancel       = "tasks/cancel"
	Resubscribe  = "tasks/resubscribe"
	PushSet      = "tasks/pushNotificationConfig/set"
	PushGet      = "tasks/pushNotificationConfig/get"
	PushList     = "tasks/pushNotificationConfig/list"
	PushDelete   = "tasks/pushNotificationConfig/delete"
	ExtendedCard = "agent/getAuthenticatedExtendedCard"
)

// The codes of errors, those of JSON-RPC first and then those of the protocol.
const (
	Parse              = -32700
	InvalidRequest     = -32600
	NoMethod           = -32601
	InvalidParams      = -32602
	Internal           = -32603
	Server             = -32000
	TaskNotFound       = -32001
	NotCancelable      = -32002
	NoPush             = -32003
	Unsupported        = -32004
	ContentType        = -32005
	NoExtendedCard     = -32007
	VersionUnsupported = -32009 // of protocol 1.0: its clients know it
)

// Error is an error of JSON-RPC as it is written.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error is what the other side says.
func (e *Error) Error() string { return e.Message }
