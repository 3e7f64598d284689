//go:build !unix

package app

import "syscall"

// childAttributes has nothing to ask for here.
func childAttributes() *syscall.SysProcAttr { return nil }
