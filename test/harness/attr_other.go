//go:build !linux

package harness

import "syscall"

func processAttributes() *syscall.SysProcAttr { return nil }
