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
	// Oldest is the place of the oldest execution of the tenant, or of execution.AllTenants, in an open state; false when there
	// is none. It reads one entry for each partition. ErrConflict: no tenant, or a state that is not open.
	Oldest(ctx context.Context, tenant string, state execution.State) (oldest ListMark, found bool, err error)
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
	// ActiveID is the conversation's active execution, empty when none is. Ahead is how many executions come before this one
	// in the line, if it waits for its turn.
	ActiveID execution.ID
	Ahead    int
}

// CheckOldest refuses what no store answers. It wraps ErrConflict.
func CheckOldest(tenant string, state execution.State) error {
	switch {
	case tenant == "":
		return fmt.Errorf("%w: the oldest execution of no tenant", ErrConflict)
	case !state.Valid() || state.Terminal():
		return fmt.Errorf("%w: %q is no open state", ErrConflict, state)
	}
	return nil
}
