package redisjournal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// Between the look at an index and the read of its rows all of them may be deleted.
func TestRowsThatAreAllGoneAreNone(t *testing.T) {
	t.Parallel()
	store, err := New(redistest.Shared(t).Client(t), Config{Prefix: redistest.Prefix()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	for _, n := range []int{1, 3} {
		marks, places := make([]journal.ListMark, n), make([]int, n)
		for i := range n {
			marks[i], places[i] = journal.ListMark{CreatedAtMs: 1, ID: execution.NewID(7)}, i
		}
		rows, err := store.rowsAt(t.Context(), marks, places)
		require.NoError(t, err)
		require.Equal(t, make([]*listedRow, n), rows)
	}
}
