package redisjournal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestCaseA6_ABadRecordNeverStopsTheSweep(t *testing.T) {
	t.Parallel()
	w := open(t)
	p := execution.Partition(7)
	bad, hollow, gone, good := w.reserve(), w.reserve(), w.reserve(), w.reserve()
	require.NoError(t, w.rdb.Del(w.ctx(), w.store.keys.row(bad), w.store.keys.row(gone)).Err())
	require.NoError(t, w.rdb.Set(w.ctx(), w.store.keys.row(bad), "not a hash", 0).Err())
	require.NoError(t, w.rdb.HSet(w.ctx(), w.store.keys.row(hollow), "state", "dreaming").Err())
	w.now = w.now.Add(time.Hour)
	found, err := w.store.Sweep(w.ctx(), p, 10)
	require.NoError(t, err)
	actions := map[string]journal.DueAction{}
	for _, due := range found {
		actions[due.Member] = due.Action
		if due.Action == journal.ActBad {
			require.NoError(t, w.store.Postpone(w.ctx(), due, time.Minute))
		}
	}
	require.Equal(t, map[string]journal.DueAction{
		string(bad): journal.ActBad, string(hollow): journal.ActBad, string(good): journal.ActStanding,
	}, actions)
	indexes := scores(w.ctx(), t, w.rdb, w.cfg.Prefix)
	require.NotContains(t, indexes["handoff"], string(gone), "an entry whose row is gone is removed")
	require.Equal(t, w.now.Add(time.Minute).UnixMilli(), indexes["handoff"][string(bad)])
}

func TestAKeyOfAnotherTypeIsFoundBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	for _, broken := range []int{keyEvents, keyCheckpoints, keyTools} {
		w := open(t)
		id := w.reserve()
		c := w.claim(id, "n1")
		key := w.store.keys.execution(id)[broken]
		require.NoError(t, w.rdb.Del(w.ctx(), key).Err())
		require.NoError(t, w.rdb.Set(w.ctx(), key, "x", 0).Err())
		before := dump(t, w.rdb, w.cfg.Prefix)
		commit := next(c, journal.Then{Kind: journal.ThenContinue})
		commit.Plan = []journal.Plan{{CallID: "call_0_0", Intent: []byte("i")}}
		_, err := w.store.Commit(w.ctx(), commit)
		require.ErrorIs(t, err, journal.ErrUnavailable)
		require.Equal(t, before, dump(t, w.rdb, w.cfg.Prefix))
	}
}

func TestAClaimFindsAKeyOfAnotherTypeBeforeItsFirstWrite(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func(*world, execution.ID){
		"the first claim":  func(*world, execution.ID) {},
		"the usual way":    func(w *world, id execution.ID) { w.commit(w.claim(id, "n1"), journal.Then{Kind: journal.ThenContinue}) },
		"one that ran out": func(w *world, id execution.ID) { w.claim(id, "n1"); w.now = w.now.Add(time.Hour) },
	} {
		for _, broken := range []int{keyCheckpoints, keyInbox} {
			w := open(t)
			id := w.reserve()
			way(w, id)
			key := w.store.keys.execution(id)[broken]
			require.NoError(t, w.rdb.Del(w.ctx(), key).Err())
			require.NoError(t, w.rdb.Set(w.ctx(), key, "x", 0).Err())
			step := w.get(id).Step
			before := dump(t, w.rdb, w.cfg.Prefix)
			_, err := w.store.Claim(w.ctx(), journal.ClaimRequest{
				Execution: id, Step: &step, Worker: "w2", Nonce: "n2", TTL: 15 * time.Second, MaxReclaims: 2,
			})
			require.ErrorIs(t, err, journal.ErrUnavailable, name)
			require.Equal(t, before, dump(t, w.rdb, w.cfg.Prefix), name)
		}
	}
}

func TestPostponeAddsNoEntryForARowThatIsGone(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.reserve()
	w.now = w.now.Add(time.Hour)
	found, err := w.store.Sweep(w.ctx(), 7, 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NoError(t, w.rdb.Del(w.ctx(), w.store.keys.row(execution.ID(found[0].Member))).Err())
	require.NoError(t, w.store.Postpone(w.ctx(), found[0], time.Minute))
	require.Empty(t, scores(w.ctx(), t, w.rdb, w.cfg.Prefix)["handoff"])
}

func TestTheSweepLockKeepsAPartitionToOneReaper(t *testing.T) {
	t.Parallel()
	w := open(t, func(c *Config) { c.SweepLock = time.Minute })
	w.reserve()
	w.now = w.now.Add(time.Hour)
	first, err := w.store.Sweep(w.ctx(), 7, 10)
	require.NoError(t, err)
	require.Len(t, first, 1)
	second, err := w.store.Sweep(w.ctx(), 7, 10)
	require.NoError(t, err)
	require.Empty(t, second)
	w.now = w.now.Add(time.Minute)
	third, err := w.store.Sweep(w.ctx(), 7, 10)
	require.NoError(t, err)
	require.Len(t, third, 1, "the store's clock decides, whatever the server does about keys that expire")
}

func TestSweepAllFindsWhatSweepFinds(t *testing.T) {
	t.Parallel()
	w := open(t)
	for p := range execution.Partition(execution.Partitions) {
		_, err := w.store.Reserve(w.ctx(), newExecution(p))
		require.NoError(t, err)
	}
	w.now = w.now.Add(time.Hour)
	var single []journal.Due
	for p := range execution.Partition(execution.Partitions) {
		found, err := w.store.Sweep(w.ctx(), p, 10)
		require.NoError(t, err)
		single = append(single, found...)
	}
	require.NoError(t, w.rdb.ScriptFlush(w.ctx()).Err())
	all, err := w.store.SweepAll(w.ctx(), 10)
	require.NoError(t, err)
	require.Len(t, all, execution.Partitions)
	require.Equal(t, single, all)
}

func TestCaseC3_QuarantineNamesNodeAndWorkers(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	for i, worker := range []journal.WorkerID{"w1", `w"2\`, "w3"} {
		_, err := w.store.Claim(w.ctx(), journal.ClaimRequest{
			Execution: id, Worker: worker, Nonce: string(rune('a' + i)), TTL: time.Second, MaxReclaims: 2,
		})
		require.NoError(t, err)
		w.now = w.now.Add(time.Second)
		found, err := w.store.Sweep(w.ctx(), 7, 10)
		require.NoError(t, err)
		require.Len(t, found, 1)
		moved, err := w.store.Requeue(w.ctx(), found[0])
		require.NoError(t, err)
		want := "default"
		if i >= 1 {
			want = execution.SuspectQueue
		}
		require.Equal(t, want, moved.Tasks[0].Queue)
	}
	request := journal.ClaimRequest{Execution: id, Worker: "w4", Nonce: "d", TTL: time.Second, MaxReclaims: 2}
	_, err := w.store.Claim(w.ctx(), request)
	var refused *journal.ClaimRefused
	require.ErrorAs(t, err, &refused)
	require.Equal(t, journal.ClaimQuarantine, refused.Reason)
	row := w.get(id)
	require.Equal(t, execution.Suspended, row.State)
	want := journal.QuarantineSuspension("run_start", []journal.WorkerID{"w1", `w"2\`, "w3"})
	require.Equal(t, want, *row.Suspension)
	events, err := w.store.Events(w.ctx(), id, row.LastSequence-1, 10)
	require.NoError(t, err)
	require.Equal(t, journal.SuspendedEvent(want), *events[0].Payload.(*execution.ExecutionSuspended))
	require.Nil(t, row.Claim)
	_, err = w.store.Claim(w.ctx(), request)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, journal.ClaimQuarantine, refused.Reason, "a repeat answers as before")
}

func TestALateHoldersRetryTakesTheStandingTaskBack(t *testing.T) {
	t.Parallel()
	w := open(t)
	n := keyed("k", "f", "")
	_, err := w.store.Reserve(w.ctx(), n)
	require.NoError(t, err)
	c := w.claim(n.ID, "n1")
	w.now = w.now.Add(time.Hour)
	found, err := w.store.Sweep(w.ctx(), n.ID.Partition(), 10)
	require.NoError(t, err)
	_, err = w.store.Requeue(w.ctx(), found[0])
	require.NoError(t, err)
	again, err := w.store.Reserve(w.ctx(), n)
	require.NoError(t, err)
	require.Len(t, again.Tasks, 1)
	_, err = w.store.Release(w.ctx(), journal.Release{
		Hold: journal.Hold{Execution: n.ID, Fence: c.Fence, Operation: 1}, Retry: &journal.Retry{Node: "n", After: time.Minute},
	})
	require.NoError(t, err)
	again, err = w.store.Reserve(w.ctx(), n)
	require.NoError(t, err)
	require.Empty(t, again.Tasks)
	_, err = w.store.Claim(w.ctx(), journal.ClaimRequest{Execution: n.ID, Worker: "w", Nonce: "n2", TTL: time.Second})
	var refused *journal.ClaimRefused
	require.ErrorAs(t, err, &refused)
	require.Equal(t, journal.ClaimEarly, refused.Reason)
	require.Equal(t, time.Minute, refused.RetryAfter)
}
