//go:build !unix

package harness

import (
	"os"
	"syscall"
)

// Signals that do not exist here: a process cannot be frozen.
const (
	freeze = syscall.Signal(-1)
	thaw   = syscall.Signal(-1)
)

func killGroup(leader *os.Process) error { return leader.Kill() }

func interruptGroup(leader *os.Process) error { return leader.Signal(os.Interrupt) }
