package executor

import (
	"errors"

	"github.com/pawl-run/pawl/journal"
)

// The causes with which a node's context ends. They are told apart by what follows: the end of the execution, nothing at
// all, or handing the step back.
var (
	// ErrUserCancel: a cancel was recorded. The store ends the execution when the claim is handed back.
	ErrUserCancel = errors.New("canceled by the user")
	// ErrFenced: somebody else owns the execution, or it has ended. Nothing is written.
	ErrFenced = journal.ErrFenced
	// ErrTrustEnded: the store could not be reached for so long that the claim may have run out.
	ErrTrustEnded = errors.New("the claim can no longer be trusted")
	// ErrDrained: the worker shuts down.
	ErrDrained = errors.New("the worker shuts down")
	// ErrDeadline: the execution's own deadline has passed.
	ErrDeadline = errors.New("the execution's deadline has passed")
)
