package harness

import "syscall"

// processAttributes makes the kernel end a child whose test binary died without cleaning up.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
