//go:build !unix

package redistest

import "syscall"

// Signals that do not exist here: a server cannot be frozen.
const (
	stop = syscall.Signal(-1)
	goOn = syscall.Signal(-1)
)
