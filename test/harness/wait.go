package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// A wait looks often at first, and less often when it has become a long one: hundreds of looks a second through an API that
// does nothing else are most of the work of a test that waits for a claim to run out.
const (
	pollInterval = 5 * time.Millisecond
	slowPoll     = 20 * time.Millisecond
	slowAfter    = 250 * time.Millisecond
)

// Eventually polls until done is true and fails the test after timeout.
func Eventually(tb testing.TB, timeout time.Duration, what string, done func() bool) {
	tb.Helper()
	if !Poll(timeout, done) {
		tb.Fatalf("not within %v: %s", timeout, what)
	}
}

// Poll polls until done is true and reports whether that came within timeout.
func Poll(timeout time.Duration, done func() bool) bool {
	began := time.Now()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for slow := false; !done(); <-tick.C {
		waited := time.Since(began)
		if waited > timeout {
			return false
		}
		if !slow && waited > slowAfter {
			slow = true
			tick.Reset(slowPoll)
		}
	}
	return true
}

// ports remembers the ports handed out: two tests must not be given the same one.
type ports struct {
	mu    sync.Mutex
	given map[int]bool
	locks []*os.File // those of the ports that other test programs must not be given
}

var freePorts = &ports{given: map[int]bool{}}

// FreeAddr is a loopback address that nothing listens on. Its port is below those that systems give to outgoing
// connections, or a client could take it between the look and the use.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	const lowest, highest = 20_000, 32_000
	freePorts.mu.Lock()
	defer freePorts.mu.Unlock()
	for range 1000 {
		port := lowest + rand.IntN(highest-lowest)
		if freePorts.given[port] || !ours(tb, port) {
			continue
		}
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			continue // somebody has it
		}
		if err := listener.Close(); err != nil {
			tb.Fatalf("find a free port: %v", err)
		}
		freePorts.given[port] = true
		return addr
	}
	tb.Fatal("find a free port: none among 1000 tries")
	return ""
}
