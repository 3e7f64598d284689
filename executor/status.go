package executor

import (
	"errors"
	"fmt"
)

// RunStatus is how the loop stands, as its own state says it. Users see execution.State.
type RunStatus string

// The statuses of a run.
const (
	StatusStarting  RunStatus = "starting"
	StatusRunning   RunStatus = "running"
	StatusWaiting   RunStatus = "waiting" // a question is open
	StatusCompleted RunStatus = "completed"
	StatusFailed    RunStatus = "failed"
	StatusCanceled  RunStatus = "canceled"
)

// ErrUnknownStatus reports a status this release does not know.
var ErrUnknownStatus = errors.New("unknown run status")

// UnmarshalText accepts the six statuses and nothing else.
func (s *RunStatus) UnmarshalText(text []byte) error {
	switch status := RunStatus(text); status {
	case StatusStarting, StatusRunning, StatusWaiting, StatusCompleted, StatusFailed, StatusCanceled:
		*s = status
		return nil
	default:
		return fmt.Errorf("%w %q", ErrUnknownStatus, text)
	}
}
