package executor

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// What stands behind a reason or a code does not say it again: people read both, one after the other.
func TestWhatSuspendsIsSaidOnce(t *testing.T) {
	t.Parallel()
	none := func(time.Duration) time.Duration { return 0 }
	back := retryOf(RunStart, maxAttempts-1, fmt.Errorf("after: %w", &FailedError{Err: errors.New("the disk is full")}), none, nil)
	require.Equal(t, &execution.Suspension{
		Reason: execution.ReasonRetriesExhausted, Detail: "run_start: executor_failed: the disk is full",
	}, back.suspension)

	gone := fmt.Errorf("journal: definition abc: %w", journal.ErrNotFound)
	err := cannotRun("abc", read(gone))
	require.EqualError(t, err, "definition abc: it is not stored")
	require.ErrorIs(t, err, errDefinition)
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.EqualError(t, cannotRun("", errors.New("resolve agent")), "resolve agent")
	down := errors.New("down")
	require.Equal(t, down, read(down), "any other error is told as it is")
}
