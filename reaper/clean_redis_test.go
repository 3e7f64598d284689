package reaper_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/reaper"
)

// Reapers on a real Redis: an execution that ends with something to undo is finalizing until the cleaner has done it, one that
// was canceled is cleaned up after its end, and a cleaner that fails is asked again.
func TestReapers_CleanUpBehindWhatEnds(t *testing.T) {
	t.Parallel()
	i := installFor(t, redistest.Shared(t), time.Hour)
	ids := i.reserve(t, 20)
	handle := []byte("handle")
	for n, id := range ids {
		claimed := i.claim(t, id, time.Minute)
		then := journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "done"}}
		if n%2 == 1 {
			then = journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: time.Hour}
		}
		_, err := i.store.Commit(t.Context(), journal.Commit{
			Hold: journal.Hold{Execution: id, Fence: claimed.Fence}, Node: "n", Checkpoint: []byte("{}"), Cleanup: &handle, Then: then,
		})
		require.NoError(t, err)
		if n%2 == 1 {
			_, err = i.store.Cancel(t.Context(), id)
			require.NoError(t, err)
		}
	}
	var attempts atomic.Int64
	var cleaned sync.Map
	cleaner := reaper.CleanerFunc(func(_ context.Context, row journal.Execution) error {
		if attempts.Add(1)%3 == 0 {
			return errors.New("the outside is away")
		}
		require.Equal(t, handle, row.Cleanup)
		cleaned.Store(row.ID, true)
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*recoveryTimeout)
	defer cancel()
	var group sync.WaitGroup
	for range 3 {
		r, err := reaper.New(i.store, i.tasks, reaper.Config{
			Interval: 50 * time.Millisecond, Grace: 50 * time.Millisecond, Cleaner: cleaner, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		group.Go(func() { _ = r.Run(ctx) })
	}
	for _, id := range ids {
		require.Eventually(t, func() bool { _, done := cleaned.Load(id); return done }, recoveryTimeout, 20*time.Millisecond)
	}
	cancel()
	group.Wait()
	for p := range execution.Partition(execution.Partitions) {
		left, err := i.store.Cleanups(t.Context(), p, 100)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// The end of a parent reaches children that nobody holds, level by level, and nobody but reapers is there.
func TestReapers_EndTheTreeOfAParentThatEnded(t *testing.T) {
	t.Parallel()
	i := installFor(t, redistest.Shared(t), time.Hour)
	root := i.reserve(t, 1)[0]
	claimed, above := i.claim(t, root, time.Minute), root
	var tree []execution.ID
	for range 3 {
		answer, err := i.store.Spawn(t.Context(), journal.Spawn{
			Hold: journal.Hold{Execution: above, Fence: claimed.Fence},
			Child: journal.NewExecution{
				ID: execution.ChildID(above, "call_0_0"), ConversationID: execution.ChildConversationID(above, "call_0_0"),
				Parent: &journal.Parent{Execution: above, Call: "call_0_0"}, Request: execution.CreateRequest{Agent: "unregistered"},
				Checkpoint: []byte("{}"), Node: "run_start",
			},
		})
		require.NoError(t, err)
		_, err = i.store.Commit(t.Context(), journal.Commit{
			Hold: journal.Hold{Execution: above, Fence: claimed.Fence}, Node: "n", Checkpoint: []byte("{}"), Then: journal.Then{
				Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: []execution.RequestID{execution.ChildRequest("call_0_0")},
			},
		})
		require.NoError(t, err)
		above = answer.Execution.ID
		tree = append(tree, above)
		claimed = i.claim(t, above, time.Minute)
	}
	_, err := i.store.Release(t.Context(), journal.Release{Hold: journal.Hold{Execution: above, Fence: claimed.Fence, Operation: 1}})
	require.NoError(t, err)
	_, err = i.store.Cancel(t.Context(), root)
	require.NoError(t, err)
	r := i.reaper(t)
	for _, id := range tree {
		_, err = r.Pass(t.Context())
		require.NoError(t, err)
		row, err := i.store.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, execution.Canceled, row.State, "a level a pass")
	}
}
