package journal

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// Inspector is the role of those who ask why an execution stands where it stands. It writes nothing.
type Inspector interface {
	// Inspect returns the row and what stands beside it, all of one moment; ErrNotFound for an unknown id. Its cost does not
	// grow with the log, the history, or the number of executions.
	Inspect(ctx context.Context, id execution.ID) (Inspection, error)
	// Count counts the executions of the tenant, or of execution.AllTenants, by state and finds the oldest of each open one.
	// It reads two numbers for each partition and state. ErrConflict: no tenant.
	Count(ctx context.Context, tenant string) (Counts, error)
	// CountOutside counts the executions whose Cleanup says that something is open outside, a remote task: open ones, and those
	// that ended before it was undone. It reads one number for each partition.
	CountOutside(ctx context.Context) (int64, error)
}

// Inspection is a row and what stands beside it.
type Inspection struct {
	Execution Execution
	NowMs     int64 // the store's clock
	// Task is the task that should be standing since RunnableAtMs; nil: none should.
	Task         *execution.Task
	RunnableAtMs int64
	// LookAtMs is when somebody looks at the row again, whatever happens meanwhile.
	LookAtMs int64
	// CleanupAtMs is when the next attempt to clean up after the row is due, 0: none is.
	CleanupAtMs int64
	// ActiveID is the conversation's active execution, empty when none is. Ahead is how many executions come before this one
	// in the line, if it waits for its turn.
	ActiveID execution.ID
	Ahead    int
}

// Counts says how many executions there are in each state; a state without any may be missing. Counts of one moment are only
// those of one partition: together they may be off by what changes meanwhile.
type Counts map[execution.State]Count

// Count is the executions of a state. Oldest is the place of the oldest one, nil when there is none, or when they have ended.
type Count struct {
	Executions int64
	Oldest     *ListMark
}

// CheckCount refuses what no store answers. It wraps ErrConflict.
func CheckCount(tenant string) error {
	if tenant == "" {
		return fmt.Errorf("%w: a count of no tenant", ErrConflict)
	}
	return nil
}
