//go:build !unix

package redisserver

import "syscall"

// childAttributes has nothing to ask for here.
func childAttributes() *syscall.SysProcAttr { return nil }
