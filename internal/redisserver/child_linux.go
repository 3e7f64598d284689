package redisserver

import "syscall"

// childAttributes keep Ctrl-C at the terminal from the child, which must outlive what it is for, and end it when we
// are killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
