//go:build unix

package harness

import (
	"os"
	"syscall"
)

// The signals that stop a process and let it go on.
const (
	freeze = syscall.SIGSTOP
	thaw   = syscall.SIGCONT
)

func killGroup(leader *os.Process) error { return syscall.Kill(-leader.Pid, syscall.SIGKILL) }

func interruptGroup(leader *os.Process) error { return syscall.Kill(-leader.Pid, syscall.SIGINT) }
