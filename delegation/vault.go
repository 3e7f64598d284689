package delegation

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Vault keeps a sealed record for each execution that has a lease. It may be used by many goroutines and processes. Records
// are never empty, and do not begin with a zero byte. Each method is one atomic step and may be repeated when its answer was lost.
//
// The id of an execution that was purged may be used again: it follows from the idempotency key. So born, when an execution was
// created in ms since 1970, tells two of one id apart: what is forgotten for one keeps nothing from one that was created later.
type Vault interface {
	// Load reads a record; nil when there is none. It returns ErrLost where a record was forgotten a while ago at most, for an
	// execution that is not older.
	Load(ctx context.Context, id execution.ID, born int64) ([]byte, error)
	// Create stores a record unless there is one, and returns the one that is stored then. It returns ErrLost, and stores
	// nothing, where a record was forgotten a while ago at most, for an execution that is not older.
	Create(ctx context.Context, id execution.ID, born int64, record []byte) (stored []byte, err error)
	// Replace stores next in place of a record, if that is still there as it was.
	Replace(ctx context.Context, id execution.ID, was, next []byte) (replaced bool, err error)
	// Forget deletes a record that is as it was, and has Create refuse another one for a while: for so long at least. Was is
	// nil when there should be none. A record that is another one stays, and is returned; nil: there is none any more.
	Forget(ctx context.Context, id execution.ID, born int64, was []byte, refuse time.Duration) (left []byte, err error)
	// Lock gives one caller at a time the right to change what a record stands for, for so long at most. The caller unlocks.
	Lock(ctx context.Context, id execution.ID, longest time.Duration) (unlock func(), locked bool, err error)
}
