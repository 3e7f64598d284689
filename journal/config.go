package journal

import (
	"fmt"
	"time"
)

// Config is what every implementation of Store is configured with. The zero value works.
type Config struct {
	// HandoffGrace is how long after a step became runnable its task must be standing. Default 5s.
	HandoffGrace time.Duration
	// Retention is how long a terminal execution is kept unless it says otherwise, and how long a suspended one may stay at
	// least: longer when it is kept for longer. Default 168h.
	Retention time.Duration
	// CleanupTimeout bounds the state finalizing. Default 30s.
	CleanupTimeout time.Duration
	// DelegateTimeout bounds how long an execution waits for the delegation that it was reserved with. Default 1m.
	DelegateTimeout time.Duration
	// CancelGrace bounds how long after a cancel a claim may still be renewed. Default 5s.
	CancelGrace time.Duration
	// LookAgain is when a wait without a bound of its own is looked at. Default 24h.
	LookAgain time.Duration
	// SweepLock is how long one reaper has a partition to itself. Default 3s; negative switches the lock off (tests).
	SweepLock time.Duration
	// MaxEvents bounds the log of one execution; room for the terminal event is kept. Default 100000.
	MaxEvents int
	// MaxWaiting bounds the executions that wait for their conversation's turn. Default 100.
	MaxWaiting int
	// Now overrides the store's clock in tests. nil: the store's own.
	Now func() time.Time
}

// WithDefaults fills the zero fields and checks the rest; the error names the field.
func (c Config) WithDefaults() (Config, error) {
	durations := []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"HandoffGrace", &c.HandoffGrace, 5 * time.Second},
		{"Retention", &c.Retention, 168 * time.Hour},
		{"CleanupTimeout", &c.CleanupTimeout, 30 * time.Second},
		{"DelegateTimeout", &c.DelegateTimeout, time.Minute},
		{"CancelGrace", &c.CancelGrace, 5 * time.Second},
		{"LookAgain", &c.LookAgain, 24 * time.Hour},
	}
	for _, d := range durations {
		if *d.value == 0 {
			*d.value = d.def
		}
		if *d.value < time.Millisecond {
			return c, fmt.Errorf("journal: %s must be at least 1ms, is %v", d.name, *d.value)
		}
	}
	if c.SweepLock == 0 {
		c.SweepLock = 3 * time.Second
	}
	counts := []struct {
		name  string
		value *int
		def   int
	}{{"MaxEvents", &c.MaxEvents, 100_000}, {"MaxWaiting", &c.MaxWaiting, 100}}
	for _, n := range counts {
		if *n.value == 0 {
			*n.value = n.def
		}
		if *n.value < 1 {
			return c, fmt.Errorf("journal: %s must be at least 1, is %d", n.name, *n.value)
		}
	}
	return c, nil
}
