package journal

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Recovery is the role of the reaper. Every write re-checks in the store that the entry is still due as it was seen;
// an entry that has moved on is left alone and is no error. Any number of reapers may work at the same time.
type Recovery interface {
	// Sweep returns at most limit entries of partition p whose time has come: of due first, then handoff, then purge. It
	// removes entries whose row is gone. A partition that was swept to the end within the last moment gives none; after a
	// full page it may be swept again at once.
	Sweep(ctx context.Context, p execution.Partition, limit int) ([]Due, error)

	// Requeue makes a step runnable again: its claim ran out, its hand-off passed without a standing task, or its timer
	// fired. It raises the wake number only if it still is the one seen, and moves the entry to handoff. When a cancel
	// is recorded it ends the row.
	Requeue(ctx context.Context, seen Due) (Requeued, error)

	// Postpone moves the entry on: its task is standing, or its row cannot be read.
	Postpone(ctx context.Context, seen Due, delay time.Duration) error

	// Expire carries out what was to happen at the entry's time: an interaction that expired, a deadline that passed, a
	// suspension past its retention, a finalizing that took too long. A wait that is merely looked at is moved on.
	Expire(ctx context.Context, seen Due) (Requeued, error)

	// Purge deletes a terminal execution whose retention has passed, with everything that only it needs. One whose clean-up
	// is open is kept for the store's retention at least.
	Purge(ctx context.Context, seen Due) error

	// Cleanups returns at most limit executions of partition p that are finalizing, or have ended with their clean-up open, and
	// whose next attempt is due, the longest due first. It removes entries whose row is gone or has nothing to clean up.
	Cleanups(ctx context.Context, p execution.Partition, limit int) ([]Cleanup, error)

	// PostponeCleanup moves the next attempt on, and says whether it did: not when the entry is no longer due as seen. Of
	// several reapers that saw an entry one moves it, and that one cleans up.
	PostponeCleanup(ctx context.Context, seen Cleanup, delay time.Duration) (bool, error)
}

// DueAction is what the reaper must do about an entry.
type DueAction string

// What the reaper must do about an entry.
const (
	ActRequeue  DueAction = "requeue"   // claim ran out, or a timer fired
	ActStanding DueAction = "standing"  // hand-off passed: requeue unless its task is standing
	ActExpire   DueAction = "expire"    // a wait, a suspension or a clean-up ran out
	ActPurge    DueAction = "purge"     // retention passed
	ActKey      DueAction = "key"       // an idempotency key to look at; Purge deletes it if its row is absent
	ActNewer    DueAction = "newer"     // the row is of a later release, whose programs look after it: postpone
	ActBad      DueAction = "malformed" // the row cannot be read: count it and postpone
)

// Due is an entry of an index as a sweep saw it.
type Due struct {
	Partition execution.Partition
	Member    string // the index's member: an execution id, or an idempotency key's entry
	Index     string // due, handoff or purge
	AtMs      int64  // its score
	NowMs     int64  // the store's clock at the sweep
	Action    DueAction
	Task      execution.Task // of ActStanding and ActRequeue: the task that should be standing
	SinceMs   int64          // of ActStanding: when the row became runnable
}

// Cleanup is an execution whose clean-up is open, as it was seen.
type Cleanup struct {
	Execution Execution // the row; of one that cannot be read the id alone
	AtMs      int64     // when the attempt was due
	SinceMs   int64     // when the execution ended, or began to
	NowMs     int64     // the store's clock
	Bad       bool      // the row cannot be read: count it and postpone
}

// Requeued is the answer of Requeue and Expire. Moved is false when the entry was no longer due as seen.
type Requeued struct {
	Moved bool
	State execution.State
	Tasks []execution.Task
}
