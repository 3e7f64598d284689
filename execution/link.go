package execution

import "context"

// CallerRole is what a caller may do.
type CallerRole string

// The roles.
const (
	SubmitRole  CallerRole = "submit"  // submit executions, and see and steer its own
	ReadRole    CallerRole = "read"    // see the tenant's executions; submit and steer none
	OperateRole CallerRole = "operate" // submit, and see and steer any of the tenant's
)

// Authority is who asks and what they may do.
type Authority struct {
	Caller CallerScope
	Role   CallerRole
	// Credential is what the caller showed, if it is one that can be exchanged for an execution's own.
	Credential Credential
}

// LocalAuthority is the authority of everybody on an installation without keys.
func LocalAuthority() Authority { return Authority{Caller: LocalCaller(), Role: OperateRole} }

// Created is the answer to a submission. Replayed means that the idempotency key named an execution which exists
// already: View is its current view.
type Created struct {
	View     View
	Replayed bool
}

// Steered is the answer to a command. Changed is false when there was nothing to do.
type Steered struct {
	View    View
	Changed bool
}

// StreamToken opens the stream of one execution, for whoever cannot send a header.
type StreamToken struct {
	Token       string `json:"token"`
	ExpiresAtMs int64  `json:"expiresAtMs"`
}

// StreamItem is one message of a stream: an event or a frame, exactly one of them. Execution is set where a stream carries
// those of several executions.
type StreamItem struct {
	Execution ID
	Event     *Event
	Frame     *Frame
}

// Stream delivers an execution's events in order, each once and without a gap, and the frames of the moment between
// them. It is used by one goroutine, and must be closed.
type Stream interface {
	// Next waits for the next item. After the terminal event it returns io.EOF. When ctx ends it returns ctx's error
	// and the stream stays usable; any other error is final.
	Next(ctx context.Context) (StreamItem, error)
	Close() error
}
