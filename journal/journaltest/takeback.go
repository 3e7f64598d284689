package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func takeBackClauses() []clause {
	return []clause{
		{name: "case A7: a claim that is taken back leaves its step runnable, says so, and counts as no reclaim", run: takeBackLive},
		{name: "a claim that ran out is taken back as one that lasts", run: takeBackRanOut},
		{name: "taking back what nobody holds changes nothing and gives the task again", run: takeBackNobody},
		{name: "case D2: taking back carries out a cancel or a pause that its holder did not", run: takeBackRequested},
		{name: "a call that was started before its claim was taken back shows the earlier fence", run: takeBackStarted},
		{name: "however often a claim is taken back, nothing is quarantined", run: takeBackOften},
		{name: "its holder is told when a claim is taken back", run: takeBackTold},
	}
}

func (a *actor) takeBack() journal.Change {
	a.b.t.Helper()
	change, err := a.b.Store.TakeBack(a.b.ctx(), a.id)
	require.NoError(a.b.t, err)
	a.tasks = change.Tasks
	return change
}

func takeBackLive(t *testing.T, b *bench) {
	a := b.planned()
	before := a.row()
	change := a.takeBack()
	row := change.Execution
	require.True(t, change.Changed)
	require.False(t, change.Pending)
	require.Nil(t, row.Claim)
	require.Zero(t, row.Reclaims)
	require.Empty(t, row.ReclaimWorkers)
	require.Equal(t, before.Version+1, row.Version)
	require.Equal(t, []execution.Task{{Execution: a.id, Step: 1, Wake: before.Wake + 1, Queue: "default"}}, change.Tasks)
	require.Equal(t, "handoff", a.entry().Index)
	events, err := b.Store.Events(b.ctx(), a.id, before.LastSequence, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, &execution.Warning{
		Code: execution.WarningReleased, Message: fmt.Sprintf("an operator took the claim from its holder, worker %s", before.Claim.Worker),
	}, events[0].Payload)
	a.claim()
	require.False(t, a.claimed.Reclaimed)
	a.commit(goOn())
}

func takeBackRanOut(t *testing.T, b *bench) {
	a := b.planned().runOut()
	stale := a.hold
	require.True(t, a.takeBack().Changed)
	require.Zero(t, a.claim().row().Reclaims)
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), journal.Commit{Hold: stale, Step: 1, Then: goOn()})
		require.ErrorIs(t, err, journal.ErrFenced)
	})
}

func takeBackNobody(t *testing.T, b *bench) {
	for _, state := range execution.States()[:5] {
		a := b.arrange(state)
		b.unchanged(func() {
			change := a.takeBack()
			require.False(t, change.Changed || change.Pending)
			standing := state == execution.Queued || state == execution.Running
			require.Equal(t, standing, len(change.Tasks) == 1, state)
		})
	}
	a := b.planned()
	first := a.takeBack()
	b.unchanged(func() {
		require.Equal(t, first.Tasks, a.takeBack().Tasks, "the task may have been lost with the answer")
	})
}

func takeBackRequested(t *testing.T, b *bench) {
	a := b.planned()
	a.cancel()
	change := a.takeBack()
	require.True(t, change.Changed)
	require.Equal(t, execution.Canceled, change.Execution.State)
	a = b.planned()
	a.pause()
	change = a.takeBack()
	require.True(t, change.Changed)
	require.Equal(t, execution.Suspended, change.Execution.State)
	require.Equal(t, execution.ReasonPaused, change.Execution.Suspension.Reason)
	types := a.types()
	require.Equal(t, []execution.EventType{execution.TypeWarning, execution.TypeExecutionSuspended}, types[len(types)-2:])
	a.resume()
	a.claim().commit(goOn())
}

func takeBackStarted(t *testing.T, b *bench) {
	a := b.planned()
	_, err := b.Store.Record(b.ctx(), journal.Record{
		Hold: a.next(), State: journal.Started, Calls: []execution.CallID{theCall},
	})
	require.NoError(t, err)
	earlier := a.hold.Fence
	a.takeBack()
	a.claim()
	require.Len(t, a.claimed.Ledger, 1)
	require.Equal(t, journal.Started, a.claimed.Ledger[0].State)
	require.Equal(t, earlier, a.claimed.Ledger[0].StartedFence)
	require.NotEqual(t, earlier, a.claimed.Fence)
}

func takeBackOften(t *testing.T, b *bench) {
	a := b.planned()
	for range 5 {
		a.takeBack()
		require.Equal(t, "default", a.tasks[0].Queue)
		a.claim(func(q *journal.ClaimRequest) { q.MaxReclaims = 1 })
	}
	require.Zero(t, a.row().Reclaims)
}

func takeBackTold(t *testing.T, b *bench) {
	a := b.planned()
	worker := a.row().Claim.Worker
	requests, err := b.Store.FollowRequests(b.ctx(), worker)
	require.NoError(t, err)
	defer func() { require.NoError(t, requests.Close()) }()
	hold := a.hold
	a.takeBack()
	select {
	case id := <-requests.Requests():
		require.Equal(t, a.id, id)
	case <-time.After(10 * time.Second):
		require.Fail(t, "the holder was not told")
	}
	found, err := b.Store.Requests(b.ctx(), []journal.Hold{hold})
	require.NoError(t, err)
	require.Equal(t, []journal.Request{{Superseded: true}}, found)
}
