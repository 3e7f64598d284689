package linktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// CallOf reads the ledger of the suite's executions: an intent is a call, a receipt a result.
func CallOf(stored journal.LedgerEntry) (call execution.ToolCall, result *execution.ToolResult, err error) {
	call.CallID = stored.CallID
	if stored.Intent != nil {
		err = json.Unmarshal(stored.Intent, &call)
	}
	if stored.Receipt != nil {
		var read execution.ToolResult
		bad := json.Unmarshal(stored.Receipt, &read)
		if err = errors.Join(err, bad); bad == nil {
			result = &read
		}
	}
	return call, result, err
}

// Plan commits a step that plans calls of the tool refund.
func (w *Worker) Plan(calls ...execution.CallID) {
	w.t.Helper()
	plans, events := make([]journal.Plan, len(calls)), make([]execution.Payload, len(calls))
	for i, call := range calls {
		intent := fmt.Sprintf(`{"callId":%q,"name":"refund","arguments":{"b":1},"providerId":"toolu_hidden"}`, call)
		plans[i] = journal.Plan{CallID: call, Intent: []byte(intent)}
		events[i] = &execution.ToolStarted{CallID: call, Name: "refund"}
	}
	w.Replan(plans, events...)
}

// Replan commits a step that writes intents, and events.
func (w *Worker) Replan(plans []journal.Plan, events ...execution.Payload) {
	w.t.Helper()
	batch := make([]execution.CallID, len(plans))
	for i := range plans {
		batch[i] = plans[i].CallID
	}
	_, err := w.store.Commit(context.Background(), journal.Commit{
		Hold: journal.Hold{Execution: w.id, Fence: w.claim.Fence}, Step: w.claim.Execution.Step, Node: "tool_call",
		Checkpoint: []byte(`{"v":1}`), Plan: plans, Batch: batch, Events: events, Then: journal.Then{Kind: journal.ThenContinue},
	})
	require.NoError(w.t, err)
	w.again()
}

// Start marks calls as about to be sent.
func (w *Worker) Start(calls ...execution.CallID) {
	w.t.Helper()
	w.record(journal.Record{State: journal.Started, Calls: calls})
}

// Receive writes a receipt of a call of the tool refund.
func (w *Worker) Receive(call execution.CallID, receipt string, failed bool) {
	w.t.Helper()
	w.record(journal.Record{
		State: journal.Done, Calls: []execution.CallID{call}, Receipts: [][]byte{[]byte(receipt)},
		Events: []execution.Payload{&execution.ToolCompleted{CallID: call, Name: "refund", Failed: failed}},
	})
}

func (w *Worker) record(record journal.Record) {
	w.t.Helper()
	record.Hold = journal.Hold{Execution: w.id, Fence: w.claim.Fence}
	_, err := w.store.Record(context.Background(), record)
	require.NoError(w.t, err)
}

// fill writes n events that are of no call, in one step.
func (w *Worker) fill(n int) {
	w.t.Helper()
	events := make([]execution.Payload, n)
	for i := range events {
		events[i] = &execution.Warning{Code: "test", Message: "a line"}
	}
	w.Commit(journal.Then{Kind: journal.ThenContinue}, events...)
}

// allCalls reads the tool calls page by page, and gives the size of each page.
func allCalls(t *testing.T, h Harness, id execution.ID, limit int) (calls []execution.LedgerEntry, sizes []int) {
	t.Helper()
	for after, more := execution.Sequence(0), true; more; {
		page, err := h.Local().ToolCalls(bounded(t), id, after, limit)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.ToolCalls), limit)
		require.True(t, page.NextAfter > after || !page.HasMore, "it goes on")
		calls, sizes = append(calls, page.ToolCalls...), append(sizes, len(page.ToolCalls))
		after, more = page.NextAfter, page.HasMore
	}
	return calls, sizes
}

// namesOf are the ids of calls.
func namesOf(calls []execution.LedgerEntry) (ids []execution.CallID) {
	for i := range calls {
		ids = append(ids, calls[i].CallID)
	}
	return ids
}

func toolCallStates(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	none, err := h.Local().ToolCalls(bounded(t), id, 0, 10)
	require.NoError(t, err)
	require.Equal(t, execution.ToolCallPage{ToolCalls: []execution.LedgerEntry{}, NextAfter: 2}, none)

	w.Plan("call_0_0", "call_0_1", "call_0_2", "call_0_3")
	w.Start("call_0_1", "call_0_3")
	w.Receive("call_0_2", `{"callId":"call_0_2","name":"refund","content":"no","isError":true,"errorKind":"execution"}`, true)
	w.Receive("call_0_3", `{"callId":"call_0_3","name":"refund","content":{"ok":true},"blob":{"hash":"`+
		strings.Repeat("ab", 32)+`","size":70000}}`, false)
	page, err := h.Local().ToolCalls(bounded(t), id, 0, 10)
	require.NoError(t, err)
	require.False(t, page.HasMore)
	require.EqualValues(t, 8, page.NextAfter)
	log := Log(t, h.Store, id)
	require.Len(t, page.ToolCalls, 4)
	for i, call := range page.ToolCalls {
		require.Equal(t, execution.CallID(fmt.Sprintf("call_0_%d", i)), call.CallID)
		require.Equal(t, "refund", call.Name)
		require.Equal(t, execution.EffectID(id, call.CallID), call.EffectID)
		require.Equal(t, execution.RecoveryUnsafe, call.Recovery, "what the definition says")
		require.EqualValues(t, 3+i, call.Sequence)
		require.Equal(t, log[2+i].OccurredAtMs, call.PlannedAtMs)
		require.JSONEq(t, `{"b":1}`, string(call.Arguments))
		require.False(t, call.OutcomeUnknown, "nobody is asked about it")
	}
	planned, started, failed, done := page.ToolCalls[0], page.ToolCalls[1], page.ToolCalls[2], page.ToolCalls[3]
	require.Equal(t, execution.CallPlanned, planned.State)
	require.Nil(t, planned.Result)
	require.Equal(t, execution.CallStarted, started.State)
	require.Zero(t, started.DoneAtMs)
	require.Equal(t, execution.CallDone, failed.State)
	require.True(t, failed.Failed)
	require.Equal(t, execution.ToolExecution, failed.Result.ErrorKind)
	require.Equal(t, log[6].OccurredAtMs, failed.DoneAtMs)
	require.Equal(t, execution.CallDone, done.State)
	require.False(t, done.Failed)
	require.JSONEq(t, `{"ok":true}`, string(done.Result.Content))
	require.EqualValues(t, 70000, done.Result.Blob.Size)
	require.Equal(t, log[7].OccurredAtMs, done.DoneAtMs)
	shown, err := json.Marshal(page)
	require.NoError(t, err)
	require.NotContains(t, string(shown), "hidden", "what is between an adapter and its provider")
}

// toolCallsOfUnknownOutcome: an unsafe call without a receipt whose holder is gone, and what a person makes of it.
func toolCallsOfUnknownOutcome(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Plan("call_0_0", "call_0_1", "call_0_2")
	w.Start("call_0_0", "call_0_2")
	w.Ask(Unknown("question")) // about call_0_0 and call_0_1
	unknown := func() (ids []execution.CallID) {
		calls, _ := allCalls(t, h, id, 10)
		require.Len(t, calls, 3)
		for i := range calls {
			if calls[i].OutcomeUnknown {
				ids = append(ids, calls[i].CallID)
			}
		}
		return ids
	}
	require.Equal(t, []execution.CallID{"call_0_0"}, unknown(), "the other one was never started, the third is not asked about")
	_, err := h.Local().SubmitInput(bounded(t), id, execution.SubmitInput{
		OperationID: "op", Input: execution.Input{Type: execution.ToolApproval, RequestID: "question", Decisions: []execution.Decision{
			{CallID: "call_0_0", Decision: execution.Approve}, {CallID: "call_0_1", Decision: execution.Reject},
		}},
	})
	require.NoError(t, err)
	require.Empty(t, unknown())
	Claim(t, h.Store, id).Replan([]journal.Plan{{
		CallID: "call_0_0", Intent: []byte(`{"name":"refund","arguments":{"b":2}}`),
	}})
	calls, _ := allCalls(t, h, id, 10)
	require.Equal(t, execution.CallPlanned, calls[0].State)
	require.JSONEq(t, `{"b":2}`, string(calls[0].Arguments), "what it is planned with now")
}

func toolCallPages(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	var want []execution.CallID
	for turn := range 12 {
		a, b := execution.CallID(fmt.Sprintf("call_%d_0", turn)), execution.CallID(fmt.Sprintf("call_%d_1", turn))
		w.Plan(a, b)
		w.Receive(b, `{"content":1}`, false)
		w.Receive(a, `{"content":1}`, false)
		want = append(want, a, b)
	}
	w.Complete("done")
	for _, limit := range []int{1, 5, 7, 23, 24} {
		calls, sizes := allCalls(t, h, id, limit)
		require.Equal(t, want, namesOf(calls))
		require.Equal(t, limit, sizes[0])
		for _, call := range calls {
			require.NotZero(t, call.DoneAtMs, "%s with pages of %d", call.CallID, limit)
		}
	}
	whole, err := h.Local().ToolCalls(bounded(t), id, 0, 1_000_000)
	require.NoError(t, err)
	require.Equal(t, want, namesOf(whole.ToolCalls))
	last := execution.Sequence(len(Log(t, h.Store, id)))
	require.Equal(t, last, whole.NextAfter)
	later, err := h.Local().ToolCalls(bounded(t), id, whole.ToolCalls[3].Sequence, 2)
	require.NoError(t, err)
	require.Equal(t, want[4:6], namesOf(later.ToolCalls))
	require.Equal(t, later.ToolCalls[1].Sequence, later.NextAfter)
	end, err := h.Local().ToolCalls(bounded(t), id, last, 10)
	require.NoError(t, err)
	require.Equal(t, execution.ToolCallPage{ToolCalls: []execution.LedgerEntry{}, NextAfter: last}, end)
}

func toolCallsFarApart(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Plan("call_0_0", "call_0_1")
	w.fill(150)
	w.Receive("call_0_1", `{"content":1}`, false)
	w.fill(2500)
	w.Receive("call_0_0", `{"content":2}`, false)
	w.Plan("call_1_0")
	calls, sizes := allCalls(t, h, id, 2)
	require.Equal(t, []execution.CallID{"call_0_0", "call_0_1", "call_1_0"}, namesOf(calls))
	require.Contains(t, sizes, 0, "a page reads a part of the log, whatever is in it")
	require.Equal(t, execution.CallDone, calls[0].State)
	require.Zero(t, calls[0].DoneAtMs, "the log says it far behind the page")
	require.NotZero(t, calls[1].DoneAtMs)
	require.JSONEq(t, `2`, string(calls[0].Result.Content))
}

func toolCallPagesByBytes(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	large := func(bytes int) string { return `{"content":"` + strings.Repeat("x", bytes) + `"}` }
	var want []execution.CallID
	for i := range 9 {
		want = append(want, execution.CallID(fmt.Sprintf("call_0_%d", i)))
	}
	w.Plan(want...)
	for _, call := range want[:6] {
		w.Receive(call, large(1<<20), false)
	}
	w.Receive(want[6], large(6<<20), false)
	calls, sizes := allCalls(t, h, id, 100)
	require.Equal(t, want, namesOf(calls))
	require.Equal(t, []int{3, 3, 1, 2}, sizes, "about 4 MiB a page; one call larger than that still comes")
}

func toolCallsOfAnotherRelease(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	events := []execution.Payload{}
	for _, call := range []execution.CallID{"call_0_0", "call_0_1", "call_0_2"} {
		events = append(events, &execution.ToolStarted{CallID: call, Name: "later"})
	}
	w.Replan([]journal.Plan{
		{CallID: "call_0_0", Intent: []byte("\x00\xff")},
		{CallID: "call_0_1", Intent: []byte(`{"arguments":{"b":1}}`)},
		{CallID: "call_0_2", Intent: []byte("\x00\xff")},
	}, events...)
	w.Receive("call_0_0", `{"content":"yes"}`, false)
	w.Receive("call_0_1", "\x00\xff", true)
	calls, _ := allCalls(t, h, id, 10)
	require.Equal(t, []execution.CallID{"call_0_0", "call_0_1", "call_0_2"}, namesOf(calls))
	require.Empty(t, calls[0].Recovery, "the definition has no such tool")
	require.Empty(t, calls[0].Arguments)
	require.JSONEq(t, `"yes"`, string(calls[0].Result.Content))
	require.JSONEq(t, `{"b":1}`, string(calls[1].Arguments))
	require.Equal(t, execution.CallDone, calls[1].State)
	require.Nil(t, calls[1].Result)
	require.True(t, calls[1].Failed, "the event says it")
	require.Equal(t, execution.CallPlanned, calls[2].State)
}

func toolCallsThatStartChildren(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Plan("call_0_0", "call_0_1")
	child := w.Spawn("call_0_1")
	w.AwaitChildren("call_0_1")
	calls, _ := allCalls(t, h, id, 10)
	require.Empty(t, calls[0].ChildID)
	require.Equal(t, child, calls[1].ChildID)
}

func toolCallRefusals(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	for _, limit := range []int{0, -1} {
		_, err := h.Local().ToolCalls(bounded(t), id, 0, limit)
		Refused(t, err, execution.InvalidRequest, "limit")
	}
	for _, after := range []execution.Sequence{2, 1 << 60} {
		_, err := h.Local().ToolCalls(bounded(t), id, after, 10)
		Refused(t, err, execution.Conflict, "after")
	}
}
