package journaltest

import (
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Harness is one store under test and what the suite may ask of it beside the contract.
type Harness struct {
	// Store is the store under test, empty.
	Store journal.Store
	// Dump is a full, byte-exact dump of everything stored, except the presence of workers. Key to value; equal dumps
	// mean that nothing was written.
	Dump func() map[string]string
	// Indexes is what the due, handoff and purge indexes hold: index to member to score. Entries of idempotency keys are
	// left out.
	Indexes func() map[string]map[string]int64
	// DropReply lets the next mutating call be carried out and lose its reply: the call returns ErrUnavailable. nil: the
	// suite wraps the store (see Dropping).
	DropReply func()
	// Flush makes the store forget what it can rebuild (SCRIPT FLUSH). nil: nothing to forget.
	Flush func()
	// Corrupt makes an execution's row unreadable and keeps its entry in the index; Orphan deletes the row and keeps the
	// entry. nil: the store cannot come to that.
	Corrupt, Orphan func(id execution.ID)
	// DamageEvent makes a stored event unreadable, its time too or not.
	DamageEvent func(id execution.ID, n execution.Sequence, timeToo bool)
}

// Open gives a fresh, empty store with the configuration; cfg.Now is the suite's clock. What it opens ends with the test.
type Open func(t *testing.T, cfg journal.Config) Harness

// Clock is the clock of a store under test; it moves only when told. Safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock is a clock that stands at a whole millisecond.
func NewClock() *Clock { return &Clock{now: time.UnixMilli(1_764_420_000_000)} }

// Now is the clock's time, for journal.Config.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Ms is Now in milliseconds.
func (c *Clock) Ms() int64 { return c.Now().UnixMilli() }

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
