//go:build unix && !linux

package harness

import "syscall"

// processAttributes gives a child its own process group.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
