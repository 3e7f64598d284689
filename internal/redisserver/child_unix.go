//go:build unix && !linux

package redisserver

import "syscall"

// childAttributes keep Ctrl-C at the terminal from the child, which must outlive what it is for.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
