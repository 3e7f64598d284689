//go:build !unix

package mcptool

import (
	"os"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

// interrupt cannot ask here; kill follows.
func interrupt(*os.Process) {}

// kill ends the process; that it is gone already is fine.
func kill(p *os.Process) { _ = p.Kill() }
