package executor

import (
	"sync"
	"time"
)

// trust is until when a holder may be sure that its claim has not run out. It is counted on the monotonic clock from
// before the request that was granted was sent, less a margin, so it always ends before the claim does.
type trust struct {
	mu  sync.Mutex
	end time.Time // guarded by mu
}

// margin is the part of a claim's time that is not trusted.
func margin(ttl time.Duration) time.Duration { return ttl / 5 }

// extend counts anew from the moment before a request that was granted ttl.
func (t *trust) extend(sent time.Time, ttl time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = sent.Add(ttl - margin(ttl))
}

// until is when trust ends.
func (t *trust) until() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end
}

func (t *trust) ended() bool { return !time.Now().Before(t.until()) }
