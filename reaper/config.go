package reaper

import (
	"fmt"
	"log/slog"
	"time"
)

// Config bounds a reaper. The zero value works.
type Config struct {
	// Interval is the time between two passes; each wait is a little shorter, never longer. Default 1s.
	Interval time.Duration
	// Grace is the shortest time by which an entry with a standing task is moved on. Default 5s.
	Grace time.Duration
	// Page is how many entries of one partition are taken at a time. Default 100.
	Page int
	// Budget bounds one pass: after it no further page is taken. A pass, and a repair, ends when it has taken twice that. Default 5s.
	Budget time.Duration
	// RepairInterval is the time between two repairs of the queue; each wait is a little shorter, never longer. Default 30s.
	RepairInterval time.Duration
	// Cleaner undoes what executions that end have outside. nil: this reaper leaves clean-ups to others.
	Cleaner Cleaner
	// CleanTimeout bounds one attempt to clean up. Default 10s.
	CleanTimeout time.Duration
	// Logger takes what went wrong, and once a minute what was done. Default slog.Default().
	Logger *slog.Logger
}

const (
	// maxPostpone is the longest time by which an entry with a standing task is moved on.
	maxPostpone = time.Minute
	// badDelay is the time by which an entry that cannot be handled is moved on.
	badDelay = time.Minute
	// newerDelay is that of an entry that a reaper of a later release looks after: short, for it may have to wait for this one's move.
	newerDelay = 5 * time.Second
	// minBackOff and maxBackOff bound the time between two attempts to clean up.
	minBackOff, maxBackOff = time.Second, time.Minute
	// lookupPage is how many tasks are looked up at a time.
	lookupPage = 100
	// workers is how many partitions, or entries, are handled at the same time.
	workers = 8
	// finalTimeout bounds the enqueueing of a task whose step was made runnable, also when the pass is being stopped.
	finalTimeout = 3 * time.Second
	// reportInterval is the time between two reports at level info.
	reportInterval = time.Minute
)

func (c Config) withDefaults() (Config, error) {
	for _, d := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"Interval", &c.Interval, time.Second},
		{"Grace", &c.Grace, 5 * time.Second},
		{"Budget", &c.Budget, 5 * time.Second},
		{"RepairInterval", &c.RepairInterval, 30 * time.Second},
		{"CleanTimeout", &c.CleanTimeout, 10 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.def
		}
		if *d.value < time.Millisecond {
			return c, fmt.Errorf("reaper: %s must be at least 1ms, is %v", d.name, *d.value)
		}
	}
	if c.Page == 0 {
		c.Page = 100
	}
	if c.Page < 1 {
		return c, fmt.Errorf("reaper: Page must be at least 1, is %d", c.Page)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}
