package journaltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func ledgerClauses() []clause {
	return []clause{
		{name: "a started mark carries its fence and cannot be seen", run: recordStarted},
		{name: "case B5, B7: a call that another claim has marked is not marked again", run: recordStartedElsewhere},
		{name: "case B6: a call that has its receipt keeps it, and is not marked again", run: recordKeeps},
		{name: "a receipt, its event and the usage are one write, once", run: recordDone},
		{name: "a record of several calls tells of each call once", run: recordPartly},
		{name: "no mark after a recorded cancel, but receipts", run: recordCanceled},
		{name: "a call that nobody planned, and a record that contradicts itself, are refused", run: recordInvalid},
		{name: "a plan replaces an entry without receipt only", run: planAgain},
		{name: "a release takes back its own marks of calls that were never sent, and no others", run: releaseUnsent},
	}
}

func started(h journal.Hold, calls ...execution.CallID) journal.Record {
	if len(calls) == 0 {
		calls = []execution.CallID{theCall}
	}
	return journal.Record{Hold: h, State: journal.Started, Calls: calls}
}

func (a *actor) record(q journal.Record) journal.Recorded {
	a.b.t.Helper()
	answer, err := a.b.Store.Record(a.b.ctx(), q)
	require.NoError(a.b.t, err)
	return answer
}

func (a *actor) ledger() journal.LedgerEntry {
	a.b.t.Helper()
	entries, err := a.b.Store.Ledger(a.b.ctx(), a.id, []execution.CallID{theCall})
	require.NoError(a.b.t, err)
	return entries[0]
}

func recordStarted(t *testing.T, b *bench) {
	a := b.planned()
	row := a.row()
	answer := a.record(started(a.hold))
	require.False(t, answer.Replayed)
	require.Equal(t, journal.Started, answer.Entries[0].State)
	require.Equal(t, a.hold.Fence, a.ledger().StartedFence)
	require.Equal(t, rowText(t, row), rowText(t, a.row()))
	b.unchanged(func() { require.True(t, a.record(started(a.hold)).Replayed) })
}

func recordStartedElsewhere(t *testing.T, b *bench) {
	a := b.planned()
	a.record(started(a.hold))
	fence := a.hold.Fence
	a.runOut().claim()
	require.Equal(t, fence, a.claimed.Ledger[0].StartedFence, "its outcome is unknown")
	b.unchanged(func() {
		_, err := b.Store.Record(b.ctx(), started(a.hold))
		require.ErrorIs(t, err, journal.ErrConflict)
	})
	a.record(receiptOf(a.hold))
	require.Equal(t, journal.Done, a.ledger().State)
}

func recordKeeps(t *testing.T, b *bench) {
	a := b.planned()
	a.record(receiptOf(a.hold))
	a.runOut().claim()
	second := receiptOf(a.hold)
	second.Receipts = [][]byte{[]byte("another")}
	second.Usage = &execution.Usage{ToolCalls: 9}
	b.unchanged(func() {
		answer := a.record(second)
		require.True(t, answer.Replayed)
		require.Equal(t, "receipt", string(answer.Entries[0].Receipt))
		answer = a.record(started(a.hold))
		require.True(t, answer.Replayed)
		require.Equal(t, journal.Done, answer.Entries[0].State)
	})
}

func recordDone(t *testing.T, b *bench) {
	a := b.planned()
	before := a.row()
	q := receiptOf(a.hold)
	q.Usage = &execution.Usage{ToolCalls: 1}
	answer := a.record(q)
	require.Equal(t, canonical(t, []journal.LedgerEntry{{
		CallID: theCall, State: journal.Done, Intent: []byte("intent"), Receipt: []byte("receipt"),
	}}), canonical(t, answer.Entries))
	row := a.row()
	require.Equal(t, before.Version+1, row.Version)
	require.EqualValues(t, 1, row.Usage.ToolCalls)
	require.Equal(t, before.LastSequence+1, row.LastSequence)
	require.Equal(t, before.Step, row.Step)
	b.unchanged(func() { require.True(t, a.record(q).Replayed) })
}

func recordPartly(t *testing.T, b *bench) {
	const other execution.CallID = "call_0_8"
	a := b.reserve().claim()
	a.commit(goOn(), func(q *journal.Commit) {
		q.Plan = []journal.Plan{{CallID: theCall, Intent: []byte("one")}, {CallID: other, Intent: []byte("two")}}
		q.Batch = []execution.CallID{theCall, other}
	})
	a.claim()
	a.record(receiptOf(a.hold))
	before := a.row().LastSequence
	both := receiptOf(a.hold)
	both.Calls, both.Receipts = []execution.CallID{theCall, other}, [][]byte{[]byte("new"), []byte("second")}
	both.Events = append(both.Events, execution.ToolCompleted{CallID: other, Name: "lookup"})
	answer := a.record(both)
	require.Equal(t, "receipt", string(answer.Entries[0].Receipt))
	require.Equal(t, "second", string(answer.Entries[1].Receipt))
	events, err := b.Store.Events(b.ctx(), a.id, before, 10)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, &execution.ToolCompleted{CallID: other, Name: "lookup"}, events[0].Payload)
}

func recordCanceled(t *testing.T, b *bench) {
	a := b.planned()
	a.cancel()
	b.unchanged(func() {
		_, err := b.Store.Record(b.ctx(), started(a.hold))
		require.ErrorIs(t, err, journal.ErrState)
	})
	require.True(t, a.record(receiptOf(a.hold)).CancelRequested)
}

func recordInvalid(t *testing.T, b *bench) {
	a := b.planned()
	event := []execution.Payload{execution.ExecutionCanceled{}}
	b.unchanged(func() {
		for _, q := range []journal.Record{
			{State: journal.Done},
			{State: journal.Done, Calls: []execution.CallID{theCall}},
			{State: journal.Planned, Calls: []execution.CallID{theCall}},
			{State: journal.Started, Calls: []execution.CallID{"call_9_9"}},
			{State: journal.Started, Calls: []execution.CallID{theCall, "call_9_9"}},
			{State: journal.Started, Calls: []execution.CallID{theCall}, Receipts: [][]byte{{}}},
			{State: journal.Done, Calls: []execution.CallID{"call_9_9"}, Receipts: [][]byte{{}}},
			{State: journal.Done, Calls: []execution.CallID{theCall}, Receipts: [][]byte{{}}, Events: event},
		} {
			q.Hold = a.hold
			_, err := b.Store.Record(b.ctx(), q)
			require.ErrorIs(t, err, journal.ErrConflict)
		}
	})
}

func planAgain(t *testing.T, b *bench) {
	a := b.planned()
	a.record(started(a.hold))
	again := func(q *journal.Commit) { q.Plan = []journal.Plan{{CallID: theCall, Intent: []byte("edited")}} }
	a.commit(goOn(), again)
	require.Equal(t, canonical(t, journal.LedgerEntry{CallID: theCall, State: journal.Planned, Intent: []byte("edited")}),
		canonical(t, a.ledger()))
	a.claim()
	a.record(receiptOf(a.hold))
	a.commit(goOn(), again)
	require.Equal(t, journal.Done, a.ledger().State)
	require.Equal(t, "receipt", string(a.ledger().Receipt))
}

func releaseUnsent(t *testing.T, b *bench) {
	a := b.planned()
	unsent := func(r *journal.Release) { r.Unsent = []execution.CallID{theCall, "call_9_9"} }
	a.record(started(a.hold))
	a.release(unsent)
	require.Equal(t, journal.Planned, a.ledger().State)
	require.Empty(t, a.ledger().StartedFence)
	a.claim()
	a.record(started(a.hold))
	fence := a.hold.Fence
	a.runOut().claim()
	a.release(unsent)
	require.Equal(t, journal.Started, a.ledger().State, "another claim's mark stays")
	require.Equal(t, fence, a.ledger().StartedFence)
	a.claim()
	a.record(receiptOf(a.hold))
	a.release(unsent)
	require.Equal(t, journal.Done, a.ledger().State)
}
