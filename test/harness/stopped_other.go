//go:build !linux

package harness

// allStopped cannot be told here: the signal is taken to have arrived.
func allStopped(int) bool { return true }
