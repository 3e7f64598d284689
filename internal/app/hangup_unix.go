//go:build unix

package app

import (
	"os"
	"syscall"
)

// hangup is the signal to read settings again.
func hangup() os.Signal { return syscall.SIGHUP }

// hasTerminal reports whether the process has a terminal.
func hasTerminal() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	return terminal.Close() == nil
}
