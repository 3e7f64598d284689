package bench

import "syscall"

// childAttributes end the child when we are killed, and keep Ctrl-C at the terminal from it: we stop it ourselves.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
