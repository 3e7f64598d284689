//go:build !unix

package harness

import "syscall"

// processAttributes are the default ones: there are no process groups to kill.
func processAttributes() *syscall.SysProcAttr { return nil }
