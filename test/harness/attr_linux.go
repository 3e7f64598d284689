package harness

import "syscall"

// processAttributes gives a child its own process group and makes the kernel end it when its test binary dies without
// cleaning up.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
