package mcptool

import "syscall"

// childAttributes give the server a process group of its own, so that Ctrl-C at the terminal is not for it and all of it
// can be killed, and end it when the program is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
