//go:build unix

package mcptool

import (
	"os"
	"syscall"
)

// interrupt asks the process and its group to end. That they are gone already is fine.
func interrupt(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// kill ends the process and its group. The group may outlive the process, whose id it keeps from being used again; that
// nobody is left is fine.
func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
