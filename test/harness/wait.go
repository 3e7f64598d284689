package harness

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

const pollInterval = 5 * time.Millisecond

// Eventually polls until done is true and fails the test after timeout.
func Eventually(tb testing.TB, timeout time.Duration, what string, done func() bool) {
	tb.Helper()
	if !Poll(timeout, done) {
		tb.Fatalf("not within %v: %s", timeout, what)
	}
}

// Poll polls until done is true and reports whether that came within timeout.
func Poll(timeout time.Duration, done func() bool) bool {
	deadline := time.Now().Add(timeout)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !done() {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}

// ports remembers the ports handed out: two tests must not be given the same one.
type ports struct {
	mu    sync.Mutex
	given map[int]bool
}

var freePorts = &ports{given: map[int]bool{}}

// FreeAddr is a loopback address that nothing listens on.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	freePorts.mu.Lock()
	defer freePorts.mu.Unlock()
	for range 100 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatalf("find a free port: %v", err)
		}
		port := listener.Addr().(*net.TCPAddr).Port
		if err := listener.Close(); err != nil {
			tb.Fatalf("find a free port: %v", err)
		}
		if !freePorts.given[port] {
			freePorts.given[port] = true
			return fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
	tb.Fatal("find a free port: all were handed out")
	return ""
}
