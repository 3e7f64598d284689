//go:build unix && !linux

package mcptool

import "syscall"

// childAttributes give the server a process group of its own, so that Ctrl-C at the terminal is not for it and all of it
// can be killed.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
