package backend

// StatusKind says how a run of a backend ended, or what it waits for.
type StatusKind string

// The kinds of status.
const (
	StatusCompleted    StatusKind = "completed"
	StatusWaitingInput StatusKind = "waiting_input"
	StatusWaitingAuth  StatusKind = "waiting_auth"
	StatusSuspended    StatusKind = wordSuspended
	StatusFailed       StatusKind = "failed"
	StatusCanceled     StatusKind = wordCanceled
	StatusTimeout      StatusKind = wordTimeout
)

// RunStatus is how a run of a backend ended. It is separate from the run's TerminationReason and may disagree with it.
type RunStatus struct {
	Kind StatusKind
	// Message is always set for a failed run, may be set for one that waits or is suspended, and is nil otherwise.
	Message *string
}

// CompletedStatus is the status of a run that came to its end.
func CompletedStatus() RunStatus { return RunStatus{Kind: StatusCompleted} }

// WaitingInputStatus is the status of a run that needs input; message may be nil.
func WaitingInputStatus(message *string) RunStatus {
	return RunStatus{Kind: StatusWaitingInput, Message: message}
}

// WaitingAuthStatus is the status of a run that needs credentials; message may be nil.
func WaitingAuthStatus(message *string) RunStatus {
	return RunStatus{Kind: StatusWaitingAuth, Message: message}
}

// SuspendedStatus is the status of a run that goes on later; message may be nil.
func SuspendedStatus(message *string) RunStatus {
	return RunStatus{Kind: StatusSuspended, Message: message}
}

// FailedStatus is the status of a run that failed.
func FailedStatus(message string) RunStatus {
	return RunStatus{Kind: StatusFailed, Message: &message}
}

// CanceledStatus is the status of a run that was canceled.
func CanceledStatus() RunStatus { return RunStatus{Kind: StatusCanceled} }

// TimeoutStatus is the status of a run that took too long.
func TimeoutStatus() RunStatus { return RunStatus{Kind: StatusTimeout} }

// String is the kind, and the message behind a colon where the kind carries one.
func (s RunStatus) String() string {
	switch s.Kind {
	case StatusFailed:
		if s.Message == nil {
			return string(s.Kind) + textSeparator
		}
		return string(s.Kind) + textSeparator + *s.Message
	case StatusWaitingInput, StatusWaitingAuth, StatusSuspended:
		if s.Message != nil {
			return string(s.Kind) + textSeparator + *s.Message
		}
	case StatusCompleted, StatusCanceled, StatusTimeout:
	}
	return string(s.Kind)
}

// DurableRunStatus is where the run stands in the store. A status that waits wins over any termination; only a completed
// run leaves the answer to its termination.
func (s RunStatus) DurableRunStatus(termination TerminationReason) DurableStatus {
	switch s.Kind {
	case StatusWaitingInput, StatusWaitingAuth, StatusSuspended:
		return DurableWaiting
	case StatusCompleted:
		status, _ := termination.Durable()
		return status
	case StatusFailed, StatusCanceled, StatusTimeout:
	}
	return DurableDone
}

// DurableStatusReason is the word beside DurableRunStatus; empty when there is none.
func (s RunStatus) DurableStatusReason(termination TerminationReason) string {
	switch s.Kind {
	case StatusWaitingInput:
		return wordInputRequired
	case StatusWaitingAuth:
		return wordAuthRequired
	case StatusSuspended:
		return wordSuspended
	case StatusTimeout:
		return wordTimeout
	case StatusCanceled:
		return wordCanceled
	case StatusCompleted:
		_, word := termination.Durable()
		return word
	case StatusFailed:
	}
	return wordError
}

// ResultStatusLabel is the word in a run's result: for a completed run where it stands, else the kind of its status.
func (s RunStatus) ResultStatusLabel(termination TerminationReason) string {
	if s.Kind == StatusCompleted {
		status, _ := termination.Durable()
		return string(status)
	}
	return string(s.Kind)
}
