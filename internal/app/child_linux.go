package app

import "syscall"

// childAttributes keep Ctrl-C at the terminal from the child, which must outlive the worker's drain, and end it when we
// are killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
