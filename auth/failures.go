package auth

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxFailures of one address in failureWindow are answered as such; further ones are told to wait.
	maxFailures   = 20
	failureWindow = time.Minute
	// maxAddresses bounds how many addresses are remembered.
	maxAddresses = 10_000
)

// failures counts the bad credentials of each address. It never stands in the way of a good one.
type failures struct {
	mu    sync.Mutex
	seen  map[netip.Prefix]*failing // guarded by mu
	clock func() time.Time
}

type failing struct {
	count int
	until time.Time // of the window
}

func newFailures() *failures {
	return &failures{seen: make(map[netip.Prefix]*failing), clock: time.Now}
}

// add counts a failure of the address and gives how long it must wait: 0 as long as it may fail. first reports the first
// failure above the bound.
func (f *failures) add(remote string) (wait time.Duration, first bool) {
	address, now := network(remote), f.clock()
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.seen[address]
	if at == nil || !now.Before(at.until) {
		if at == nil && len(f.seen) >= maxAddresses {
			f.forget(now)
		}
		at = &failing{until: now.Add(failureWindow)}
		f.seen[address] = at
	}
	at.count++
	if at.count <= maxFailures {
		return 0, false
	}
	return at.until.Sub(now), at.count == maxFailures+1
}

// forget makes room, for so many that it is seldom called: it drops the windows that are over, and then any.
func (f *failures) forget(now time.Time) {
	for address, at := range f.seen {
		if !now.Before(at.until) {
			delete(f.seen, address)
		}
	}
	for address := range f.seen {
		if len(f.seen) <= maxAddresses*9/10 {
			return
		}
		delete(f.seen, address)
	}
}

// network is the address without its port; of IPv6 the /64, which is what one host has.
func network(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	bits := 32
	if address = address.Unmap(); address.Is6() {
		bits = 64
	}
	prefix, err := address.WithZone("").Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
