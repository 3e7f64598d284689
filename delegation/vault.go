package delegation

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Vault keeps a sealed record for each execution that has a lease. It may be used by many goroutines and processes.
type Vault interface {
	// Load reads a record; nil when there is none.
	Load(ctx context.Context, id execution.ID) ([]byte, error)
	// Create stores a record unless there is one, and returns the one that is stored then.
	Create(ctx context.Context, id execution.ID, record []byte) (stored []byte, err error)
	// Replace stores next in place of a record, if that is still there as it was.
	Replace(ctx context.Context, id execution.ID, was, next []byte) (replaced bool, err error)
	// Delete deletes a record, and is content when there is none.
	Delete(ctx context.Context, id execution.ID) error
	// Lock gives one caller at a time the right to change what a record stands for, for so long at most. The caller unlocks.
	Lock(ctx context.Context, id execution.ID, longest time.Duration) (unlock func(), locked bool, err error)
}
