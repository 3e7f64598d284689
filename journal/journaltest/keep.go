package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func keeping(q *journal.Commit) { q.Keep = ttl }

func commitKept(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for step := execution.Step(1); step < 4; step++ {
		before := a.row()
		b.clock.Advance(ttl / 2)
		answer := a.commit(goOn(), keeping, func(q *journal.Commit) { q.Messages = [][]byte{[]byte("m")} })
		require.Equal(t, journal.Committed{
			Step: step, State: execution.Running, Sequence: before.LastSequence, Kept: true,
		}, answer)
		row := a.row()
		require.Equal(t, &journal.Claim{
			Worker: before.Claim.Worker, Fence: before.Claim.Fence, ExpiresAtMs: b.clock.Ms() + ttl.Milliseconds(),
		}, row.Claim)
		require.Equal(t, before.Wake, row.Wake, "no task is to stand")
		require.Equal(t, before.Version+1, row.Version)
		entry := a.entry()
		require.Equal(t, "due", entry.Index)
		require.Equal(t, row.Claim.ExpiresAtMs, entry.AtMs)
		require.Equal(t, journal.ClaimBusy, refusal(t, a.tryClaim()).Reason)
		renewed, err := b.Store.Renew(b.ctx(), a.next(), ttl)
		require.NoError(t, err)
		require.Equal(t, ttl, renewed.TTL)
	}
	wake := a.row().Wake
	answer := a.commit(goOn())
	require.False(t, answer.Kept)
	require.Equal(t, []execution.Task{{Execution: a.id, Step: 4, Wake: wake + 1, Queue: "default"}}, answer.Tasks)
	require.Nil(t, a.row().Claim)
	require.Equal(t, "handoff", a.entry().Index)
	a.claim()
	require.Zero(t, a.row().Reclaims)
	a.commit(goOn(), keeping)
	released := a.release()
	require.Len(t, released.Tasks, 1, "a kept claim is handed back like any other")
	require.Zero(t, a.claim().row().Reclaims)
}

func commitKeptRunsOut(t *testing.T, b *bench) {
	a := b.planned()
	a.commit(goOn(), keeping, func(q *journal.Commit) { q.Keep = 3 * ttl })
	old := a.hold
	b.clock.Advance(2 * ttl)
	require.Equal(t, journal.ClaimBusy, refusal(t, a.tryClaim()).Reason)
	seen := a.due()
	require.Equal(t, journal.ActRequeue, seen.Action, "the reaper sees it when it has run out")
	a.requeue()
	a.claim()
	require.True(t, a.claimed.Reclaimed)
	require.Equal(t, 1, a.row().Reclaims)
	b.unchanged(func() {
		q := a.commitOf(goOn(), keeping)
		q.Hold = old
		_, err := b.Store.Commit(b.ctx(), q)
		require.ErrorIs(t, err, journal.ErrFenced)
		old.Operation++
		_, err = b.Store.Renew(b.ctx(), old, ttl)
		require.ErrorIs(t, err, journal.ErrFenced)
	})
	a.commit(goOn(), keeping)
	require.Zero(t, a.row().Reclaims, "they are counted per step")
}

func commitKeptReplay(t *testing.T, b *bench) {
	a := b.reserve().claim()
	q := a.commitOf(goOn(), keeping)
	first, err := b.Store.Commit(b.ctx(), q)
	require.NoError(t, err)
	b.clock.Advance(ttl / 2)
	again := func() {
		b.unchanged(func() {
			answer, err := b.Store.Commit(b.ctx(), q)
			require.NoError(t, err)
			require.True(t, answer.Replayed)
			answer.Replayed = false
			require.Equal(t, canonical(t, first), canonical(t, answer), "kept since it was written, and no longer for that")
		})
	}
	again()
	a.runOut().claim()
	again()
	a.commit(goOn(), keeping)
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), q)
		require.ErrorIs(t, err, journal.ErrFenced)
	})
}

func commitNotKept(t *testing.T, b *bench) {
	for name, c := range map[string]struct {
		then   journal.Then
		before func(a *actor)
		state  execution.State
		tasks  int
	}{
		"a cancel":         {goOn(), func(a *actor) { a.cancel() }, execution.Canceled, 0},
		"a pause":          {goOn(), func(a *actor) { a.pause() }, execution.Suspended, 0},
		"a question":       {ask(), nil, execution.WaitingForInput, 0},
		"a wait":           {waitFor(time.Second), nil, execution.Running, 0},
		"an end":           {completeWith("done"), nil, execution.Completed, 0},
		"a suspension":     {journal.Then{Kind: journal.ThenSuspend, Suspension: policy()}, nil, execution.Suspended, 0},
		"an answered wait": {journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Await: awaited(theRequest)}, nil, execution.Running, 1},
	} {
		var a *actor
		if name == "an answered wait" {
			a = b.answered()
		} else {
			a = b.reserve().claim()
		}
		if c.before != nil {
			c.before(a)
		}
		answer := a.commit(c.then, keeping)
		require.False(t, answer.Kept, name)
		require.Equal(t, c.state, answer.State, name)
		require.Len(t, answer.Tasks, c.tasks, name)
		require.Nil(t, a.row().Claim, name)
	}
	a := b.reserve().claim()
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), a.commitOf(goOn(), func(q *journal.Commit) { q.Keep = -1 }))
		require.ErrorIs(t, err, journal.ErrConflict)
	})
}
