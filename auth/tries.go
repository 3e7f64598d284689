package auth

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// maxFailures of one address in tryWindow are answered as such; further ones are told to wait.
	maxFailures = 20
	tryWindow   = time.Minute
	// maxAddresses bounds how many addresses are remembered.
	maxAddresses = 10_000
)

// tries counts what each address does in a window of time. Its memory is bounded: whoever has more addresses than it remembers is
// counted with some of them alone.
type tries struct {
	most  int // of one address in a window
	clock func() time.Time

	mu   sync.Mutex
	seen map[netip.Prefix]*trying // guarded by mu
}

type trying struct {
	count int
	until time.Time // of the window
}

func newTries(most int) *tries {
	return &tries{most: most, clock: time.Now, seen: make(map[netip.Prefix]*trying)}
}

// add counts a try of the address and gives how long it must wait: 0 as long as it may try. first reports the first try above the
// bound.
func (t *tries) add(address netip.Prefix) (wait time.Duration, first bool) {
	now := t.clock()
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.seen[address]
	if at == nil || !now.Before(at.until) {
		if at == nil && len(t.seen) >= maxAddresses {
			t.forget(now)
		}
		at = &trying{until: now.Add(tryWindow)}
		t.seen[address] = at
	}
	at.count++
	if at.count <= t.most {
		return 0, false
	}
	return at.until.Sub(now), at.count == t.most+1
}

// forget makes room, for so many that it is seldom called: it drops the windows that are over, and then any.
func (t *tries) forget(now time.Time) {
	for address, at := range t.seen {
		if !now.Before(at.until) {
			delete(t.seen, address)
		}
	}
	for address := range t.seen {
		if len(t.seen) <= maxAddresses*9/10 {
			return
		}
		delete(t.seen, address)
	}
}
