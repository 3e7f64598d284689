//go:build unix && !linux

package app

import "syscall"

// childAttributes keep Ctrl-C at the terminal from the child, which must outlive the worker's drain.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
