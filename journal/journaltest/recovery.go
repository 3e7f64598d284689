package journaltest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func recoveryClauses() []clause {
	locked := func(c *journal.Config) { c.SweepLock = time.Minute }
	return []clause{
		{name: "nothing due gives nothing", run: sweepNothing},
		{name: "a sweep is bounded and goes through due, handoff and purge, oldest first", run: sweepOrder},
		{name: "a sweep says what should be standing, and since when", run: sweepSays},
		{name: "a partition that was swept to the end within the last moment gives none", run: sweepLocked, config: locked},
		{name: "a full page is followed by the next one at once", run: sweepPages, config: locked},
		{name: "case A13: a claim that ran out is made runnable again, and its fence stays", run: requeueClaim},
		{name: "case B12: of many reapers that saw the same entry one makes a task", run: requeueOnce},
		{name: "case A17: the reaper does not ask whether anybody can run it; it only makes it runnable", run: requeueForever},
		{name: "what was renewed, claimed, committed or ended between look and write is left alone", run: requeueMoved},
		{name: "requeue wants the wake number that was seen, whatever the entry's score", run: requeueWake},
		{name: "requeue leaves the view alone", run: requeueQuiet},
		{name: "a recorded cancel ends the row in the requeue", run: requeueCanceled},
		{name: "postpone moves an entry that is due as seen", run: postpone},
		{name: "purge deletes the row, its key, and the conversation with its last execution", run: purge},
		{name: "case I5, H6: the key lives as long as the row and is free afterwards", run: purgeKey},
		{name: "case A6: an entry whose row is gone is removed, and an unreadable one stops no other", run: sweepBad},
		{name: "the fence never falls, over requeue, resume and reclaim", run: claimFence},
	}
}

func (b *bench) sweep() []journal.Due {
	b.t.Helper()
	found, err := b.Store.Sweep(b.ctx(), thePartition, 1000)
	require.NoError(b.t, err)
	return found
}

func sweepNothing(t *testing.T, b *bench) {
	b.reserve()
	b.clock.Advance(b.cfg.HandoffGrace - time.Millisecond)
	b.unchanged(func() { require.Empty(t, b.sweep()) })
	b.clock.Advance(time.Millisecond)
	b.unchanged(func() { require.Len(t, b.sweep(), 1) })
	other, err := b.Store.Sweep(b.ctx(), thePartition+1, 10)
	require.NoError(t, err)
	require.Empty(t, other, "another partition")
}

func sweepOrder(t *testing.T, b *bench) {
	var want []string
	ended, standing, lost := b.arrange(execution.Completed), []*actor{b.reserve()}, []*actor{b.planned()}
	for range 3 {
		b.clock.Advance(time.Second)
		standing, lost = append(standing, b.reserve()), append(lost, b.planned())
	}
	for _, a := range append(append(lost, standing...), ended) {
		want = append(want, string(a.id))
	}
	b.clock.Advance(b.cfg.Retention)
	for limit := range len(want) + 2 {
		found, err := b.Store.Sweep(b.ctx(), thePartition, limit)
		require.NoError(t, err)
		require.Len(t, found, min(limit, len(want)))
		for i, d := range found {
			require.Equal(t, want[i], d.Member)
		}
	}
}

func sweepSays(t *testing.T, b *bench) {
	a := b.reserve()
	since := b.clock.Ms()
	seen := a.due()
	require.Equal(t, journal.Due{
		Partition: thePartition, Member: string(a.id), Index: "handoff", AtMs: since + b.cfg.HandoffGrace.Milliseconds(),
		NowMs: b.clock.Ms(), Action: journal.ActStanding, SinceMs: since,
		Task: execution.Task{Execution: a.id, Wake: 1, Queue: "default-new"},
	}, seen)
	a.claim()
	at := b.clock.Ms() + ttl.Milliseconds()
	seen = a.due()
	require.Equal(t, journal.Due{
		Partition: thePartition, Member: string(a.id), Index: "due", AtMs: at, NowMs: at, Action: journal.ActRequeue,
		Task: execution.Task{Execution: a.id, Wake: 1, Queue: "default"},
	}, seen)
	a.cancel()
	require.Equal(t, journal.ActPurge, a.due().Action)
}

func sweepLocked(t *testing.T, b *bench) {
	b.reserve()
	b.clock.Advance(time.Hour)
	require.Len(t, b.sweep(), 1)
	require.Empty(t, b.sweep())
}

func sweepPages(t *testing.T, b *bench) {
	for range 3 {
		b.reserve()
	}
	b.clock.Advance(b.cfg.HandoffGrace)
	for _, want := range []int{2, 2, 0} { // a page that was full, the rest, and the partition is left alone
		found, err := b.Store.Sweep(b.ctx(), thePartition, 2)
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), want)
		for _, entry := range found {
			require.NoError(t, b.Store.Postpone(b.ctx(), entry, time.Hour))
		}
	}
	b.clock.Advance(b.cfg.SweepLock)
	require.Empty(t, b.sweep(), "all three were found")
}

func requeueClaim(t *testing.T, b *bench) {
	a := b.planned()
	wake := a.row().Wake
	answer := a.requeue()
	require.Equal(t, journal.Requeued{
		Moved: true, State: execution.Running,
		Tasks: []execution.Task{{Execution: a.id, Step: 1, Wake: wake + 1, Queue: "default"}},
	}, answer)
	entry := a.entry()
	require.Equal(t, "handoff", entry.Index)
	require.Equal(t, b.clock.Ms()+b.cfg.HandoffGrace.Milliseconds(), entry.AtMs)
	a.commit(goOn()) // the late holder: nobody replaced it
	require.EqualValues(t, 2, a.row().Step)
}

func requeueOnce(t *testing.T, b *bench) {
	a := b.planned()
	seen := a.due()
	moved := make(chan bool, 20)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			answer, err := b.Store.Requeue(context.Background(), seen)
			if err == nil {
				moved <- answer.Moved
			}
		})
	}
	wg.Wait()
	close(moved)
	count := map[bool]int{}
	for m := range moved {
		count[m]++
	}
	require.Equal(t, map[bool]int{true: 1, false: 19}, count)
}

func requeueForever(t *testing.T, b *bench) {
	a := b.reserve(func(n *journal.NewExecution) { n.Definition, n.Request.Agent = "nobody knows it", "gone" })
	for n := range 50 {
		require.Equal(t, execution.Queued, a.requeue().State)
		require.EqualValues(t, n+2, a.tasks[0].Wake)
	}
	require.Len(t, a.types(), 1)
}

func requeueMoved(t *testing.T, b *bench) {
	for name, move := range map[string]func(a *actor){
		"renewed": func(a *actor) {
			_, err := b.Store.Renew(b.ctx(), a.next(), ttl)
			require.NoError(t, err)
		},
		"claimed":   func(a *actor) { a.claim() },
		"committed": func(a *actor) { a.commit(goOn()) },
		"parked":    func(a *actor) { a.commit(ask()) },
		"ended":     func(a *actor) { a.commit(completeWith("done")) },
		"released":  func(a *actor) { a.release() },
		"paused":    func(a *actor) { a.pause() },
		"canceled":  func(a *actor) { a.cancel() },
		"requeued":  func(a *actor) { a.requeue() },
	} {
		a := b.planned()
		seen := a.due()
		move(a)
		for call, do := range recoveryCalls() {
			b.unchanged(func() {
				answer, err := do(b, seen)
				require.NoError(t, err, "%s after it was %s", call, name)
				require.False(t, answer.Moved, "%s after it was %s", call, name)
			})
		}
	}
}

func requeueWake(t *testing.T, b *bench) {
	a := b.reserve()
	seen := a.entry()
	a.claim().release() // in the same millisecond: index and score are as before
	require.Equal(t, seen.AtMs, a.entry().AtMs)
	b.clock.Advance(b.cfg.HandoffGrace)
	b.unchanged(func() {
		answer, err := b.Store.Requeue(b.ctx(), seen)
		require.NoError(t, err)
		require.False(t, answer.Moved)
	})
}

func requeueQuiet(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.release(retryAfter(time.Minute))
	before := a.row()
	a.requeue()
	before.Wake++
	require.Equal(t, rowText(t, before), rowText(t, a.row()))
}

func requeueCanceled(t *testing.T, b *bench) {
	a := b.planned()
	a.cancel()
	answer := a.requeue()
	require.Equal(t, journal.Requeued{Moved: true, State: execution.Canceled}, answer)
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), journal.Commit{Hold: a.hold, Step: 1, Then: goOn()})
		require.ErrorIs(t, err, journal.ErrFenced)
	})
}

func postpone(t *testing.T, b *bench) {
	for _, state := range execution.States() {
		a := b.arrange(state)
		seen := a.due()
		before := a.row()
		require.NoError(t, b.Store.Postpone(b.ctx(), seen, time.Minute))
		entry := a.entry()
		require.Equal(t, seen.Index, entry.Index)
		require.Equal(t, b.clock.Ms()+60_000, entry.AtMs)
		require.Equal(t, rowText(t, before), rowText(t, a.row()))
	}
}

func purge(t *testing.T, b *bench) {
	a := b.reserve(keyed).claim()
	a.commit(ask(), func(q *journal.Commit) {
		q.Plan = []journal.Plan{{CallID: theCall, Intent: []byte("i")}}
	})
	a.input()
	a.claim().commit(completeWith("done"))
	b.clock.Advance(time.Second)
	second := a.follow().claim()
	second.commit(completeWith("done"))
	require.NoError(t, b.Store.Purge(b.ctx(), a.due()))
	require.Equal(t, journal.Gone, a.state())
	messages, err := b.Store.Messages(b.ctx(), second.id, 0, 10)
	require.NoError(t, err)
	require.Len(t, messages, 2, "the conversation lives on")
	require.NoError(t, b.Store.Purge(b.ctx(), second.due()))
	for _, d := range b.sweep() {
		require.NoError(t, b.Store.Purge(b.ctx(), d))
	}
	require.Empty(t, b.Dump(), "nothing is left")
}

func purgeKey(t *testing.T, b *bench) {
	a := b.reserve(keyed)
	a.cancel()
	seen := a.due()
	answer, err := b.Store.Reserve(b.ctx(), b.submission(keyed))
	require.NoError(t, err)
	require.False(t, answer.Created, "as long as the row is there")
	require.NoError(t, b.Store.Purge(b.ctx(), seen))
	b.reserve(keyed)
}

func sweepBad(t *testing.T, b *bench) {
	if b.Corrupt == nil || b.Orphan == nil {
		t.Skip("this store cannot lose a row or make one unreadable")
	}
	bad, orphan, good := b.reserve(), b.reserve(), b.reserve()
	b.Corrupt(bad.id)
	b.Orphan(orphan.id)
	b.clock.Advance(b.cfg.HandoffGrace)
	actions := map[string]journal.DueAction{}
	for _, d := range b.sweep() {
		actions[d.Member] = d.Action
		if d.Action == journal.ActBad {
			require.NoError(t, b.Store.Postpone(b.ctx(), d, time.Minute))
		}
	}
	require.Equal(t, map[string]journal.DueAction{
		string(bad.id): journal.ActBad, string(good.id): journal.ActStanding,
	}, actions)
	for _, members := range b.Indexes() {
		require.NotContains(t, members, string(orphan.id))
	}
	require.Len(t, b.sweep(), 1, "the unreadable one was moved on")
}
