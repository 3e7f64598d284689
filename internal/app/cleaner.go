package app

import (
	"context"
	"errors"
	"sync"

	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/reaper"
)

// cleaners undo what executions left outside, each its own part. One that fails keeps no other from its part; all of them are
// called again then.
type cleaners []reaper.Cleaner

// Clean calls all of them at once: a part that waits for somebody who is silent uses up the time of no other.
func (c cleaners) Clean(ctx context.Context, row journal.Execution) error {
	errs := make([]error, len(c))
	var all sync.WaitGroup
	for i, part := range c {
		all.Go(func() { errs[i] = part.Clean(ctx, row) })
	}
	all.Wait()
	return errors.Join(errs...)
}
