package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func orphanClauses() []clause {
	return []clause{
		{name: "the end of a parent asks the holders of its children to end", run: orphanHeld},
		{name: "a child that nobody holds is due at once and ended by a reaper, in any state", run: orphanIdle},
		{name: "a child that is about to start, or to be answered, ends instead", run: orphanActs},
		{name: "every kind of end reaches the children, and one level of them", run: orphanLevels},
		{name: "a parent's cancel reaches its children when it ends, and not before", run: orphanRequested},
		{name: "a child that finalizes, or has ended, is left alone", run: orphanOver},
		{name: "submitting to a child's conversation cancels the child alone", run: orphanInterrupted},
	}
}

// left is an execution in a state whose parent has ended while nobody held it.
func (b *bench) left(state execution.State) *actor {
	b.t.Helper()
	parent := b.reserve().claim()
	child := b.bring(parent.spawn(theCall), state)
	parent.commit(completeWith("done"))
	return child
}

func orphanHeld(t *testing.T, b *bench) {
	a := b.reserve().claim()
	child := a.spawn(theCall).claim()
	worker := child.row().Claim.Worker
	requests, err := b.Store.FollowRequests(b.ctx(), worker)
	require.NoError(t, err)
	defer func() { require.NoError(t, requests.Close()) }()
	before := child.row()
	require.Empty(t, a.commit(completeWith("done")).Tasks)
	select {
	case id := <-requests.Requests():
		require.Equal(t, child.id, id)
	case <-b.ctx().Done():
		require.Fail(t, "its worker was not told")
	}
	row := child.row()
	require.True(t, row.CancelRequested)
	require.Equal(t, before.Version+1, row.Version)
	require.Equal(t, before.Claim, row.Claim)
	require.Equal(t, execution.TypeCancelRequested, child.types()[2])
	require.Equal(t, execution.Canceled, child.commit(completeWith("late")).State)
}

func orphanIdle(t *testing.T, b *bench) {
	for _, state := range []execution.State{
		execution.Queued, execution.Running, execution.WaitingForInput, execution.Suspended,
	} {
		child := b.left(state)
		row := child.row()
		require.Equal(t, state, row.State)
		require.True(t, row.CancelRequested)
		entry := child.entry()
		require.Equal(t, "due", entry.Index)
		require.Equal(t, b.clock.Ms(), entry.AtMs)
		require.Equal(t, journal.ActExpire, child.due().Action)
		require.Equal(t, execution.Canceled, child.expire().State)
		types := child.types()
		require.Equal(t, execution.TypeExecutionCanceled, types[len(types)-1])
		require.NotContains(t, types, execution.TypeCancelRequested, "nobody had to be asked")
		require.Equal(t, row.Version+1, child.row().Version)
	}
	for name, then := range map[string]journal.Then{
		"waits for a time": waitFor(time.Hour), "waits for a child": awaitChildren("call_9_9"),
	} {
		a := b.reserve().claim()
		child := a.spawn(theCall).claim()
		child.commit(then)
		a.commit(completeWith("done"))
		require.Equal(t, execution.Canceled, child.expire().State, name)
	}
	a := b.reserve().claim()
	child := a.spawn(theCall).claim(func(q *journal.ClaimRequest) { q.TTL = time.Millisecond })
	b.clock.Advance(time.Millisecond)
	a.commit(completeWith("done"))
	require.Equal(t, journal.ActRequeue, child.due().Action, "its claim ran out")
	require.Equal(t, execution.Canceled, child.requeue().State)
}

func orphanActs(t *testing.T, b *bench) {
	child := b.left(execution.Queued)
	require.Equal(t, journal.ClaimEnded, refusal(t, child.tryClaim()).Reason)
	require.Equal(t, execution.Canceled, child.state())

	child = b.left(execution.WaitingForInput)
	child.input()
	require.Equal(t, journal.ClaimEnded, refusal(t, child.tryClaim()).Reason)

	child = b.left(execution.Suspended)
	require.Len(t, child.resume().Tasks, 1)
	require.Equal(t, journal.ActStanding, child.due().Action)
	require.Equal(t, execution.Canceled, child.requeue().State)

	for _, then := range []journal.Then{ask(), waitFor(time.Hour), awaitChildren("call_9_9")} {
		parent := b.reserve().claim()
		child := parent.spawn(theCall).claim()
		child.commit(then)
		child.pause()
		parent.commit(completeWith("done"))
		require.Empty(t, child.resume().Tasks, "it is as it was")
		require.Equal(t, b.clock.Ms(), child.entry().AtMs, "and due, whatever it waits for")
		require.Equal(t, execution.Canceled, child.expire().State)
	}

	child = b.left(execution.Running)
	require.Equal(t, execution.Canceled, child.pause().Execution.State, "a cancel wins")
	child = b.left(execution.Running)
	require.Equal(t, execution.Canceled, child.cancel().Execution.State)
}

func orphanLevels(t *testing.T, b *bench) {
	for name, end := range ends() {
		root := b.reserve().claim()
		child := root.spawn(theCall, func(n *journal.NewExecution) { n.Deadline = time.Minute }).claim()
		grandchild := child.spawn(theCall)
		great := grandchild.claim().spawn(theCall)
		child.release()
		grandchild.release()
		end(child)
		require.True(t, child.row().State.Terminal(), name)
		require.True(t, grandchild.row().CancelRequested, name)
		require.False(t, great.row().CancelRequested, name)
		grandchild.expire()
		require.True(t, great.row().CancelRequested, name)
		great.expire()
		require.Equal(t, execution.Canceled, great.state(), name)
	}
}

func orphanRequested(t *testing.T, b *bench) {
	a := b.reserve().claim()
	held, idle := a.spawn("call_0_0").claim(), a.spawn("call_0_1")
	a.cancel()
	require.False(t, held.row().CancelRequested)
	require.False(t, idle.row().CancelRequested)
	require.Equal(t, execution.Canceled, a.release().State)
	require.True(t, held.row().CancelRequested)
	require.True(t, idle.row().CancelRequested)
	idle.expire()
	held.release()
	require.Equal(t, execution.Canceled, held.state())
}

func orphanOver(t *testing.T, b *bench) {
	a := b.reserve().claim()
	finalizing, ended := b.bring(a.spawn("call_0_0"), execution.Finalizing), b.bring(a.spawn("call_0_1"), execution.Completed)
	canceled := a.spawn("call_0_2").claim()
	canceled.cancel()
	rows := []journal.Execution{finalizing.row(), ended.row(), canceled.row()}
	a.commit(completeWith("done"))
	for i, child := range []*actor{finalizing, ended, canceled} {
		require.Equal(t, rowText(t, rows[i]), rowText(t, child.row()))
	}
	_, err := b.Store.CompleteDelegationCleanup(b.ctx(), finalizing.id, theLease)
	require.NoError(t, err)
	require.Equal(t, execution.Completed, finalizing.state())
}

func orphanInterrupted(t *testing.T, b *bench) {
	a := b.reserve().claim()
	child := a.spawn(theCall)
	a.awaits(theCall)
	guest := b.submission(func(n *journal.NewExecution) {
		n.ConversationID, n.Request.OnBusy = child.conv, execution.BusyInterrupt
	})
	answer, err := b.Store.Reserve(b.ctx(), guest)
	require.NoError(t, err)
	require.Equal(t, execution.Canceled, child.state())
	require.Len(t, answer.Tasks, 2, "that of the guest, and that of the parent, which goes on")
	require.Nil(t, a.row().Wait)
	a.claim().commit(completeWith("done"))
	row, err := b.Store.Get(b.ctx(), guest.ID)
	require.NoError(t, err)
	require.False(t, row.CancelRequested, "it is nobody's child")
}
