package app

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/reaper"
)

// cleaners undo what executions left outside, each its own part. One that fails keeps no other from its part; all of them are
// called again then.
type cleaners []reaper.Cleaner

// Clean calls all of them.
func (c cleaners) Clean(ctx context.Context, row journal.Execution) error {
	var errs []error
	for _, part := range c {
		errs = append(errs, part.Clean(ctx, row))
	}
	return errors.Join(errs...)
}
