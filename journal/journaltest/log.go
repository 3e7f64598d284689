package journaltest

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func logClauses() []clause {
	small := func(c *journal.Config) { c.MaxEvents = 8 }
	return []clause{
		{name: "contract C, append_event: sequences are dense from 1 and carry the store's clock", run: appendDense},
		{name: "contract C, append_event: a repeat with its operation number is written once", run: appendOnce},
		{name: "contract C, append_event: an event that belongs to a change of state is refused", run: appendForeign},
		{name: "contract C, append_event: a full log is refused and the terminal event still fits", run: appendFull, config: small},
		{name: "a commit that would fill the log is refused as a whole; one that ends, or writes no event, is not", run: commitFull, config: small},
		{name: "a receipt is written with its event however full the log is", run: recordFull, config: small},
		{name: "contract C, events: after is exclusive, ascending, limited", run: readAfter},
		{name: "a place that no log reaches is behind its end, and a page is never longer than the log", run: readBeyond},
		{name: "a page says where the log ends and where the execution stands", run: readPage},
		{name: "operation numbers only grow; a number of another method is refused", run: operationNumbers},
		{name: "bytes survive exactly", run: bytesSurvive},
		{name: "case F9: no event that belongs to a change of state holds a large value; the row does", run: logOfLargeValues},
		{name: "every event of a kind reads back as it was written", run: eventsSurvive},
	}
}

func warning(code string) execution.Payload { return execution.Warning{Code: code, Message: "m"} }

func appendDense(t *testing.T, b *bench) {
	a := b.reserve().claim()
	version := a.row().Version
	for n := execution.Sequence(3); n < 6; n++ {
		b.clock.Advance(7)
		event, err := b.Store.AppendEvent(b.ctx(), a.next(), warning("w"))
		require.NoError(t, err)
		require.Equal(t, n, event.Sequence)
		require.Equal(t, b.clock.Ms(), event.OccurredAtMs)
	}
	row := a.row()
	require.EqualValues(t, 5, row.LastSequence)
	require.Equal(t, version+3, row.Version)
	require.Equal(t, b.clock.Ms(), row.UpdatedAtMs)
	require.Equal(t, execution.Running, row.State)
}

func appendOnce(t *testing.T, b *bench) {
	a := b.reserve().claim()
	hold := a.next()
	first, err := b.Store.AppendEvent(b.ctx(), hold, warning("w"))
	require.NoError(t, err)
	b.unchanged(func() {
		again, err := b.Store.AppendEvent(b.ctx(), hold, warning("w"))
		require.NoError(t, err)
		require.Equal(t, canonical(t, first), canonical(t, again))
	})
}

func appendForeign(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for _, payload := range []execution.Payload{
		nil,
		execution.ExecutionQueued{},
		execution.ExecutionStarted{},
		execution.ExecutionCompleted{Answer: "x"},
		execution.ExecutionCanceled{},
		execution.ExecutionFailed{},
		execution.InteractionRequired{},
		execution.InteractionReceived{},
		execution.ExecutionSuspended{},
		execution.ExecutionResumed{},
		execution.CancelRequested{},
		execution.RetryScheduled{},
		execution.UnreadableEvent{},
	} {
		b.unchanged(func() {
			_, err := b.Store.AppendEvent(b.ctx(), a.next(), payload)
			require.ErrorIs(t, err, journal.ErrConflict)
			_, err = b.Store.Commit(b.ctx(), a.commitOf(goOn(), func(q *journal.Commit) { q.Events = []execution.Payload{payload} }))
			require.ErrorIs(t, err, journal.ErrConflict)
		})
	}
}

func appendFull(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for range 5 { // with queued and started: 7 of 8
		_, err := b.Store.AppendEvent(b.ctx(), a.next(), warning("w"))
		require.NoError(t, err)
	}
	b.unchanged(func() {
		_, err := b.Store.AppendEvent(b.ctx(), a.next(), warning("w"))
		require.ErrorIs(t, err, journal.ErrLimit)
		_, err = b.Store.BeginInteraction(b.ctx(), a.next(), question())
		require.ErrorIs(t, err, journal.ErrLimit)
	})
	_, err := b.Store.Finish(b.ctx(), a.next(), anyState, completed())
	require.NoError(t, err)
	require.Len(t, a.types(), 8)
}

func commitFull(t *testing.T, b *bench) {
	a := b.planned()
	many := func(q *journal.Commit) {
		for range 6 {
			q.Events = append(q.Events, warning("w"))
		}
	}
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), a.commitOf(goOn(), many))
		require.ErrorIs(t, err, journal.ErrLimit)
		record := receiptOf(a.hold)
		record.Events = append(record.Events, a.commitOf(goOn(), many).Events...)
		_, err = b.Store.Record(b.ctx(), record)
		require.ErrorIs(t, err, journal.ErrLimit)
	})
	for range 9 { // the events of commands are always written
		a.release()
		a.pause()
		a.resume()
		a.claim()
	}
	record := receiptOf(a.hold)
	record.Events = nil
	a.record(record)
	a.commit(goOn())
	a.claim()
	a.commit(failWith("event_limit_exceeded"), many)
	types := a.types()
	require.Equal(t, execution.TypeExecutionFailed, types[len(types)-1])
}

func recordFull(t *testing.T, b *bench) {
	a := b.planned()
	for len(a.types()) < 7 {
		_, err := b.Store.AppendEvent(b.ctx(), a.next(), warning("w"))
		require.NoError(t, err)
	}
	record := receiptOf(a.hold)
	require.NotEmpty(t, record.Events)
	recorded, err := b.Store.Record(b.ctx(), record)
	require.NoError(t, err)
	require.Equal(t, journal.Done, recorded.Entries[0].State)
	types := a.types()
	require.Len(t, types, 8)
	require.Equal(t, execution.TypeToolCompleted, types[7])
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), a.commitOf(goOn(), func(q *journal.Commit) { q.Events = []execution.Payload{warning("w")} }))
		require.ErrorIs(t, err, journal.ErrLimit)
	})
	a.commit(failWith("event_limit_exceeded"))
	types = a.types()
	require.Equal(t, execution.TypeExecutionFailed, types[len(types)-1])
}

func readAfter(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for range 5 {
		_, err := b.Store.AppendEvent(b.ctx(), a.next(), warning("w"))
		require.NoError(t, err)
	}
	for after := range execution.Sequence(9) {
		for _, limit := range []int{0, 1, 3, 100} {
			events, err := b.Store.Events(b.ctx(), a.id, after, limit)
			require.NoError(t, err)
			require.Len(t, events, max(0, min(limit, 7-int(after))))
			for i, event := range events {
				require.Equal(t, after+1+execution.Sequence(i), event.Sequence)
			}
		}
	}
}

func readBeyond(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for _, beyond := range []uint64{7, 1 << 53, 1<<63 - 1, 1 << 63, math.MaxUint64} {
		page, err := b.Store.EventPage(b.ctx(), a.id, execution.Sequence(beyond), 10)
		require.NoError(t, err, beyond)
		require.Empty(t, page.Events)
		require.EqualValues(t, 2, page.Last)
		checkpoints, err := b.Store.Checkpoints(b.ctx(), a.id, execution.Step(beyond), 10)
		require.NoError(t, err, beyond)
		require.Empty(t, checkpoints)
	}
	page, err := b.Store.EventPage(b.ctx(), a.id, 1, math.MaxInt)
	require.NoError(t, err)
	require.Len(t, page.Events, 1)
	checkpoints, err := b.Store.Checkpoints(b.ctx(), a.id, 0, math.MaxInt)
	require.NoError(t, err)
	require.Len(t, checkpoints, 1)
	messages, err := b.Store.Messages(b.ctx(), a.id, 0, math.MaxInt)
	require.NoError(t, err)
	require.Len(t, messages, 1)
	messages, err = b.Store.Messages(b.ctx(), a.id, math.MaxInt, math.MaxInt)
	require.NoError(t, err)
	require.Empty(t, messages)
}

func readPage(t *testing.T, b *bench) {
	a := b.reserve().claim()
	page, err := b.Store.EventPage(b.ctx(), a.id, 1, 10)
	require.NoError(t, err)
	require.Len(t, page.Events, 1)
	require.EqualValues(t, 2, page.Last)
	require.Equal(t, execution.Running, page.State)
	page, err = b.Store.EventPage(b.ctx(), a.id, 99, 10)
	require.NoError(t, err)
	require.Empty(t, page.Events)
	require.EqualValues(t, 2, page.Last)
}

func operationNumbers(t *testing.T, b *bench) {
	a := b.reserve().claim()
	hold := a.hold
	hold.Operation = 5
	_, err := b.Store.AppendEvent(b.ctx(), hold, warning("w"))
	require.NoError(t, err)
	b.unchanged(func() {
		_, err := b.Store.Renew(b.ctx(), hold, ttl)
		require.ErrorIs(t, err, journal.ErrConflict, "the number is another call's")
		hold.Operation = 4
		_, err = b.Store.AppendEvent(b.ctx(), hold, warning("w"))
		require.ErrorIs(t, err, journal.ErrConflict, "a lower number")
		hold.Operation = 0
		_, err = b.Store.AppendEvent(b.ctx(), hold, warning("w"))
		require.ErrorIs(t, err, journal.ErrConflict, "no number")
	})
	a.runOut().claim()
	_, err = b.Store.AppendEvent(b.ctx(), a.next(), warning("w"))
	require.NoError(t, err, "every claim counts from 1")
}

func bytesSurvive(t *testing.T, b *bench) {
	for _, data := range awkward() {
		a := b.reserve(func(n *journal.NewExecution) { n.Checkpoint, n.Messages = data, [][]byte{data} }).claim()
		require.Equal(t, string(data), string(a.claimed.Checkpoint))
		a.commit(goOn(), func(q *journal.Commit) {
			q.Checkpoint, q.Messages, q.ReadsHistory = data, [][]byte{data}, true
			q.Plan, q.Batch = []journal.Plan{{CallID: theCall, Intent: data}}, []execution.CallID{theCall}
		})
		a.claim()
		record := receiptOf(a.hold)
		record.Receipts = [][]byte{data}
		recorded, err := b.Store.Record(b.ctx(), record)
		require.NoError(t, err)
		require.Equal(t, string(data), string(recorded.Entries[0].Receipt))
		a.release()
		a.claim()
		require.Equal(t, string(data), string(a.claimed.Checkpoint))
		require.Len(t, a.claimed.Messages, 2)
		require.Equal(t, string(data), string(a.claimed.Messages[1]))
		require.Equal(t, string(data), string(a.claimed.Ledger[0].Intent))
		require.Equal(t, string(data), string(a.claimed.Ledger[0].Receipt))
		a.commit(ask())
		_, err = b.Store.CommitInteractionInput(b.ctx(), a.id, journal.InteractionInput{
			OperationID: "op", RequestID: theRequest, Response: string(data),
		})
		require.NoError(t, err)
		a.claim()
		require.Equal(t, string(data), string(a.claimed.Inbox[0].Payload))
	}
}

func eventsSurvive(t *testing.T, b *bench) {
	a := b.reserve().claim()
	tokens := int64(1)<<53 + 1
	payloads := []execution.Payload{
		execution.ModelStarted{Turn: 3, InvocationID: "inv \x00 \" \\ \u2028"},
		execution.ModelCompleted{Turn: 3, InvocationID: "i", FinishReason: "stop", InputTokens: &tokens},
		execution.ToolStarted{CallID: theCall, Name: "lookup"},
		execution.ToolCompleted{CallID: theCall, Name: "lookup", Failed: true},
		execution.Warning{Code: "c", Message: "žluťoučký 🐎"},
	}
	a.commit(goOn(), func(q *journal.Commit) { q.Events = payloads })
	events, err := b.Store.Events(b.ctx(), a.id, 2, 10)
	require.NoError(t, err)
	for i, payload := range payloads {
		want := execution.Event{Sequence: execution.Sequence(3 + i), OccurredAtMs: b.clock.Ms(), Payload: payload}
		require.Equal(t, canonical(t, want), canonical(t, events[i]))
	}
}

func logOfLargeValues(t *testing.T, b *bench) {
	large := strings.Repeat("é", 1<<20)
	bounded := func(a *actor) {
		t.Helper()
		events, err := b.Store.Events(b.ctx(), a.id, 0, 100)
		require.NoError(t, err)
		for _, event := range events {
			data, err := event.MarshalJSON()
			require.NoError(t, err)
			require.Less(t, len(data), 40<<10, event.Payload.EventType())
		}
	}
	completed := b.reserve().claim()
	completed.commit(ask(func(i *execution.Interaction) { i.Prompt = large }))
	require.Equal(t, large, completed.row().PendingInteraction.Prompt)
	completed.input()
	completed.claim().commit(completeWith(large))
	require.Equal(t, large, completed.row().Outcome.Answer)
	bounded(completed)
	last, err := b.Store.Events(b.ctx(), completed.id, completed.row().LastSequence-1, 1)
	require.NoError(t, err)
	require.Equal(t, len(large), last[0].Payload.(*execution.ExecutionCompleted).AnswerBytes)
	failed := b.reserve().claim()
	failed.release(func(q *journal.Release) {
		q.Suspension = &execution.Suspension{Reason: execution.ReasonPolicy, Detail: large}
	})
	require.Equal(t, large, failed.row().Suspension.Detail)
	failed.resume()
	failed.claim().commit(journal.Then{
		Kind: journal.ThenEnd, Failure: &execution.Failure{Code: "model_error", Message: large},
	})
	require.Equal(t, large, failed.row().Failure.Message)
	bounded(failed)
}
