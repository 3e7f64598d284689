package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func damagedLogClauses() []clause {
	return []clause{
		{name: "case A6: an event that cannot be read keeps its place and hides no other one", run: damagedEvents},
		{name: "case A6: an event that cannot be read stops no execution", run: damagedLogGoesOn},
		{name: "case A6: a row that cannot be read hides no other one in a listing", run: damagedRowListed},
		{name: "case A6: a row that cannot be read keeps no other holder from what is recorded for it", run: damagedRowHeld},
		{name: "case A6: a row that cannot be read stops nobody in the line of its conversation", run: damagedRowInLine},
		{name: "case A6: a row that cannot be read keeps no other one from its conversation", run: damagedRowOfConversation},
		{name: "case A6: a row that cannot be read keeps neither its children nor its parent from ending", run: damagedRowOfFamily},
		{name: "a repeated call answers also when its event cannot be read by now", run: damagedRepeat},
	}
}

// damaged is a log of seven events of which the first, the fourth and the last cannot be read, and what it was before.
func damaged(b *bench) (a *actor, before []execution.Event) {
	b.t.Helper()
	a = b.reserve().claim()
	for range 5 {
		b.clock.Advance(7)
		_, err := b.Store.AppendEvent(b.ctx(), a.next(), warning("w"))
		require.NoError(b.t, err)
	}
	before, err := b.Store.Events(b.ctx(), a.id, 0, 100)
	require.NoError(b.t, err)
	require.Len(b.t, before, 7)
	b.DamageEvent(a.id, 1, false)
	b.DamageEvent(a.id, 4, true)
	b.DamageEvent(a.id, 7, false)
	for i, timeKept := range map[int]bool{0: true, 3: false, 6: true} {
		before[i].Payload = &execution.UnreadableEvent{}
		if !timeKept {
			before[i].OccurredAtMs = 0
		}
	}
	return a, before
}

func damagedEvents(t *testing.T, b *bench) {
	a, want := damaged(b)
	b.unchanged(func() {
		for after := range execution.Sequence(8) {
			for _, limit := range []int{1, 2, 100} {
				page, err := b.Store.EventPage(b.ctx(), a.id, after, limit)
				require.NoError(t, err)
				require.EqualValues(t, 7, page.Last)
				require.Equal(t, execution.Running, page.State)
				require.Equal(t, want[after:min(int(after)+limit, 7)], append([]execution.Event{}, page.Events...))
			}
		}
	})
}

func damagedLogGoesOn(t *testing.T, b *bench) {
	a, want := damaged(b)
	event, err := b.Store.AppendEvent(b.ctx(), a.next(), warning("behind it"))
	require.NoError(t, err)
	require.EqualValues(t, 8, event.Sequence)
	a.commit(completeWith("done"))
	events, err := b.Store.Events(b.ctx(), a.id, 0, 100)
	require.NoError(t, err)
	require.Equal(t, want, events[:7])
	require.Equal(t, execution.TypeExecutionCompleted, events[len(events)-1].Payload.EventType())
	require.Equal(t, execution.Completed, a.state())
}

func damagedRepeat(t *testing.T, b *bench) {
	a := b.reserve().claim()
	hold := a.next()
	written, err := b.Store.AppendEvent(b.ctx(), hold, warning("w"))
	require.NoError(t, err)
	b.DamageEvent(a.id, written.Sequence, false)
	again, err := b.Store.AppendEvent(b.ctx(), hold, warning("w"))
	require.NoError(t, err)
	written.Payload = &execution.UnreadableEvent{}
	require.Equal(t, written, again)

	end := a.next()
	_, err = b.Store.Finish(b.ctx(), end, anyState, completed())
	require.NoError(t, err)
	b.DamageEvent(a.id, 4, true)
	ended, err := b.Store.Finish(b.ctx(), end, anyState, completed())
	require.NoError(t, err)
	require.True(t, ended.Replayed)
	require.Equal(t, execution.Event{Sequence: 4, Payload: &execution.UnreadableEvent{}}, ended.Event)
	require.Equal(t, journal.Mutation{Execution: a.row(), Event: ended.Event, Tasks: ended.Tasks, Replayed: true}, ended)
}

// corrupted makes the row of one of three executions unreadable, if the store can come to that.
func corrupted(t *testing.T, b *bench) (first, bad, last *actor) {
	t.Helper()
	if b.Corrupt == nil {
		t.Skip("this store cannot make a row unreadable")
	}
	reserve := func() *actor {
		b.clock.Advance(time.Second)
		return b.reserve().claim()
	}
	first, bad, last = reserve(), reserve(), reserve()
	b.Corrupt(bad.id)
	return first, bad, last
}

func damagedRowListed(t *testing.T, b *bench) {
	first, bad, last := corrupted(t, b)
	want := []execution.ID{last.id, first.id}
	for name, listing := range map[string]journal.Listing{
		"all":      {},
		"by pages": {Limit: 1},
		"a state":  {State: execution.Running},
		"filtered": {Agent: "demo"},
		"own":      {Own: true, UpdatedSinceMs: 1},
	} {
		require.Equal(t, want, b.walk(listing), name)
	}
	require.Empty(t, b.walk(journal.Listing{ConversationID: bad.conv}), "also where it is the only one")
}

func damagedRowHeld(t *testing.T, b *bench) {
	first, bad, last := corrupted(t, b)
	last.cancel()
	requests, err := b.Store.Requests(b.ctx(), []journal.Hold{first.hold, bad.hold, last.hold})
	require.NoError(t, err)
	require.Equal(t, []journal.Request{{}, {Superseded: true}, {CancelRequested: true}}, requests)
	requests, err = b.Store.Requests(b.ctx(), []journal.Hold{bad.hold})
	require.NoError(t, err)
	require.Equal(t, []journal.Request{{Superseded: true}}, requests)
	lasts, err := b.Store.LastSequences(b.ctx(), []execution.ID{first.id, bad.id, last.id})
	require.NoError(t, err)
	require.EqualValues(t, 2, lasts[0])
	require.EqualValues(t, 3, lasts[2])
	renewals, is := b.Store.(journal.Renewals)
	if !is {
		return
	}
	superseded := first.hold
	superseded.Fence = "1-nobody"
	for _, holds := range [][]journal.Hold{
		{superseded, bad.next(), last.next()}, {superseded, bad.next()}, {bad.next(), superseded},
	} {
		for i, answer := range renewals.RenewAll(b.ctx(), holds, ttl) {
			switch holds[i].Execution {
			case superseded.Execution:
				require.ErrorIs(t, answer.Err, journal.ErrFenced)
			case bad.id:
				require.ErrorIs(t, answer.Err, journal.ErrUnavailable)
				require.NotErrorIs(t, answer.Err, journal.ErrFenced, "what was said to another hold")
			default:
				require.NoError(t, answer.Err)
			}
		}
	}
}

// A damaged row in the line of a conversation would otherwise keep whoever is in front of it from ending.
func damagedRowInLine(t *testing.T, b *bench) {
	if b.Corrupt == nil {
		t.Skip("this store cannot make a row unreadable")
	}
	active := b.reserve().claim()
	bad, next := active.follow(), active.follow()
	b.Corrupt(bad.id)
	active.commit(completeWith("done"))
	require.Equal(t, execution.Completed, active.state())
	next.claim().commit(completeWith("done"))
	require.Equal(t, execution.Completed, next.state())
}

// Of a damaged row that was alone in its conversation nothing can be told; others still come to the conversation.
func damagedRowOfConversation(t *testing.T, b *bench) {
	if b.Corrupt == nil {
		t.Skip("this store cannot make a row unreadable")
	}
	bad := b.reserve().claim()
	bad.commit(completeWith("done"))
	b.Corrupt(bad.id)
	next := bad.follow()
	next.claim().commit(completeWith("done"))
	require.Equal(t, []execution.ID{next.id}, b.walk(journal.Listing{ConversationID: bad.conv}))
}

// A damaged row of a family keeps neither its children nor its parent from ending.
func damagedRowOfFamily(t *testing.T, b *bench) {
	if b.Corrupt == nil {
		t.Skip("this store cannot make a row unreadable")
	}
	parent := b.planned()
	child := parent.spawn(theCall)
	b.Corrupt(parent.id)
	child.claim().commit(completeWith("done"))
	require.Equal(t, execution.Completed, child.state())

	parent = b.planned()
	b.Corrupt(parent.spawn(theCall).id)
	parent.commit(failWith("model_error"))
	require.Equal(t, execution.Failed, parent.state())
}
