package redisjournal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

func TestCaseH3_EveryCallStaysInsideASlotOfARealCluster(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartCluster(t).Client(t)
	cfg := Config{Prefix: redistest.Prefix()}
	cfg.SweepLock, cfg.HandoffGrace = -1, time.Millisecond
	store, err := New(rdb, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for p := range execution.Partition(execution.Partitions) {
		n := newExecution(p)
		reserved, err := store.Reserve(ctx, n)
		require.NoError(t, err)
		id := reserved.Execution.ID
		sub, err := store.Follow(ctx, id)
		require.NoError(t, err)
		behind := newExecution(p)
		behind.ConversationID, behind.Request.OnBusy = n.ConversationID, execution.BusyEnqueue
		_, err = store.Reserve(ctx, behind)
		require.NoError(t, err)
		claimed, err := store.Claim(ctx, journal.ClaimRequest{Execution: id, Worker: "w", Nonce: "n", TTL: time.Minute})
		require.NoError(t, err)
		changed(t, sub)
		ended, err := store.Commit(ctx, next(claimed, journal.Then{
			Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "done"},
		}))
		require.NoError(t, err)
		require.Equal(t, behind.ID, ended.Tasks[0].Execution)
		require.NoError(t, sub.Close())
	}
	open, err := store.OpenExecutions(ctx)
	require.NoError(t, err)
	require.EqualValues(t, execution.Partitions, open)
	require.Eventually(t, func() bool {
		all, err := store.SweepAll(ctx, 10)
		return err == nil && len(all) == execution.Partitions
	}, 10*time.Second, 10*time.Millisecond)
	rows, err := store.Recoverable(ctx, 100)
	require.NoError(t, err)
	require.Len(t, rows, execution.Partitions)
	for state, limit := range map[execution.State]int{execution.Completed: 10, execution.Queued: 64, "": 7} {
		want := execution.Partitions
		if state == "" {
			want *= 2
		}
		require.Len(t, pages(ctx, t, store, journal.Listing{State: state, Limit: limit}), want, "state %q", state)
	}
	for i := range 10 {
		key := fmt.Sprint("key", i)
		reserved, err := store.Reserve(ctx, keyed(key, "f", elsewhere(key)))
		require.NoError(t, err)
		require.True(t, reserved.Created)
	}
	for _, row := range rows {
		seen, err := store.Inspect(ctx, row.ID)
		require.NoError(t, err)
		require.Equal(t, row.ID, seen.ActiveID)
	}
	found, census := audited(t, store, false)
	require.Empty(t, found)
	require.EqualValues(t, execution.Partitions, census.Rows[execution.Completed])
	require.EqualValues(t, execution.Partitions+10, census.Open)
	require.NoError(t, rdb.Del(ctx, store.keys.due(9), store.keys.handoff(9)).Err())
	found, _ = audited(t, store, true)
	require.NotEmpty(t, found[journal.FindingNotIndexed])
	requireSound(t, store)
}
