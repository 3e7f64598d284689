//go:build unix

package harness

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// ours reports whether no other test program has the port. It is this program's then, until that ends: the lock goes with it.
func ours(tb testing.TB, port int) bool {
	tb.Helper()
	dir := filepath.Join(os.TempDir(), "pawl-test-ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = file.Close() // it was never written to
		return false
	}
	freePorts.locks = append(freePorts.locks, file)
	return true
}
