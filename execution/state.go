package execution

// State is where an execution stands. Completed, Failed and Canceled are terminal and never left.
type State string

// The states of an execution.
const (
	Queued          State = "queued"            // accepted; no node has started
	Running         State = "running"           // started and not parked: a worker holds it or will be called
	WaitingForInput State = "waiting_for_input" // an interaction is open
	Suspended       State = "suspended"         // stopped until somebody resumes it; the reason says why
	Finalizing      State = "finalizing"        // the loop has ended; clean-up is under way
	Completed       State = "completed"
	Failed          State = "failed"
	Canceled        State = "canceled"
)

// States lists every state, open ones first.
func States() []State {
	return []State{Queued, Running, WaitingForInput, Suspended, Finalizing, Completed, Failed, Canceled}
}

// Terminal reports whether the state is never left.
func (s State) Terminal() bool { return s == Completed || s == Failed || s == Canceled }

// Valid reports whether s is one of States.
func (s State) Valid() bool {
	for _, known := range States() {
		if s == known {
			return true
		}
	}
	return false
}

// SuspendReason says why an execution is suspended.
type SuspendReason string

// The reasons for which an execution is suspended.
const (
	ReasonPaused            SuspendReason = "paused"
	ReasonLimit             SuspendReason = "limit"
	ReasonRetriesExhausted  SuspendReason = "retries_exhausted"
	ReasonQuarantined       SuspendReason = "quarantined"
	ReasonPolicy            SuspendReason = "policy"
	ReasonUnknownDefinition SuspendReason = "unknown_definition"
)

// WaitKind says what an execution waits for while no worker is needed.
type WaitKind string

// The kinds of wait.
const (
	WaitRetry    WaitKind = "retry"    // the back-off of a failed node
	WaitChild    WaitKind = "child"    // a durable delegate
	WaitRemote   WaitKind = "remote"   // a remote agent's task
	WaitSchedule WaitKind = "schedule" // its start time, or its conversation's turn
	WaitInput    WaitKind = "input"    // a person or the app
	WaitAuth     WaitKind = "auth"     // credentials
)

// Priority orders the queues of an execution.
type Priority string

// The priorities. Normal is the default.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// Queue is the base name of the priority's queue; new executions go to the queue of that name with "-new" behind it.
func (p Priority) Queue() string {
	switch p {
	case High:
		return "high"
	case Low:
		return "low"
	default:
		return "default"
	}
}
