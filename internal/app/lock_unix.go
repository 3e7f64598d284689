//go:build unix

package app

import (
	"fmt"
	"os"
	"syscall"
)

// lockDir takes the lock file for this process; the system gives it back when the process ends, however it ends.
func lockDir(path string) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // the error that matters is the lock's
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file.Close, nil
}
