package journaltest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// sealClauses say what becomes of tool calls that are open when their execution ends.
func sealClauses() []clause {
	return []clause{
		{name: "case E2: open tool calls are answered when their execution ends", run: sealed},
		{name: "case E2: a call with a receipt is answered by it", run: sealedReceipt},
		{name: "case E2: what the last commit plans counts, and the batch that it stores", run: sealedByCommit},
		{name: "case E2: nothing is answered without a batch", run: sealedNot},
	}
}

// answers are the messages of the execution's history from the one at the index on, up to the end of its own part.
func (a *actor) answers(from int) (answers []string) {
	a.b.t.Helper()
	messages, err := a.b.Store.Messages(a.b.ctx(), a.id, from, a.row().HistoryEnd-from)
	require.NoError(a.b.t, err)
	for _, message := range messages {
		require.True(a.b.t, json.Valid(message), "%s", message)
		answers = append(answers, string(message))
	}
	return answers
}

// answered is the message that answers a call of the execution: what the ledger holds of it, as it is.
func (a *actor) answered(call execution.CallID, ledger string) string {
	return fmt.Sprintf(`{"role":"tool","sealed":{"callId":"%s"%s},"executionId":"%s"}`, call, ledger, a.id)
}

// An intent and a receipt as a ledger may hold them: no store writes them in another way than they came.
const (
	anIntent  = `{"v":1, "name":"look/up \"é\"","arguments":{"n":12345678901234567890,"s":"\u0041\n"}}`
	aReceipt  = `{"v":1,"result":{"callId":"call_0_1", "name":"look","content":{"n":12345678901234567890,"a":[]}}}`
	asIntent  = `,"intent":` + anIntent
	asReceipt = `,"receipt":` + aReceipt
)

// asking brings an execution to a boundary with a batch of open calls; another one planned has none.
func (b *bench) asking(node string, batch ...execution.CallID) *actor {
	b.t.Helper()
	a := b.reserve().claim()
	a.commit(goOn(), func(q *journal.Commit) {
		q.Node, q.Messages, q.Batch = node, [][]byte{[]byte(`{"role":"assistant"}`)}, batch
		for _, call := range []execution.CallID{"call_0_0", "call_0_1"} {
			q.Plan = append(q.Plan, journal.Plan{CallID: call, Intent: []byte(anIntent)})
		}
	})
	return a
}

func sealed(t *testing.T, b *bench) {
	for _, node := range []string{"tool_call", "tool_return"} {
		a := b.asking(node, "call_0_0", "call_0_1")
		want := func() []string {
			return []string{a.answered("call_0_0", asIntent), a.answered("call_0_1", asIntent)}
		}
		next := a.take(execution.BusyInterrupt, "stop")
		require.Equal(t, want(), a.answers(2), node)
		messages, err := b.Store.Messages(b.ctx(), next.id, 4, 10)
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("stop")}, messages, "behind the results")
		require.Equal(t, 4, a.row().HistoryEnd)
		require.Equal(t, 4, next.row().HistoryStart)

		a = b.asking(node, "call_0_0", "call_0_1")
		next = a.take(execution.BusyRollback, "stop")
		require.Equal(t, want(), a.answers(2), node)
		next.hears("stop")

		a = b.asking(node, "call_0_0", "call_0_1").claim()
		a.cancel()
		a.release()
		require.Equal(t, want(), a.answers(2), "%s, however it ends", node)
	}
	a := b.asking("tool_call", "call_0_1", "never_planned")
	a.cancel()
	require.Equal(t, []string{a.answered("call_0_1", asIntent), a.answered("never_planned", "")}, a.answers(2), "the batch's alone")
}

// sealedByCommit is a cancel that a commit carries out: what that plans, and its batch, count.
func sealedByCommit(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.cancel()
	a.commit(goOn(), func(q *journal.Commit) {
		q.Node, q.Batch = "tool_call", []execution.CallID{"call_0_0", "call_0_1"}
		q.Earlier = []journal.Boundary{{
			Checkpoint: []byte("earlier"), Messages: [][]byte{[]byte(`{"role":"assistant"}`)},
			Plan: []journal.Plan{{CallID: "call_0_0", Intent: []byte(`{"first":1}`)}, {CallID: "call_0_1", Intent: []byte(anIntent)}},
		}}
		q.Plan = []journal.Plan{{CallID: "call_0_0", Intent: []byte(`{"edited":1}`)}}
	})
	require.Equal(t, execution.Canceled, a.row().State)
	require.Equal(t, []string{
		a.answered("call_0_0", `,"intent":{"edited":1}`), a.answered("call_0_1", asIntent),
	}, a.answers(2))

	a = b.asking("tool_call", "call_0_0").claim()
	a.cancel()
	a.commit(goOn(), func(q *journal.Commit) { q.Batch = []execution.CallID{"call_0_1"} })
	require.Equal(t, []string{a.answered("call_0_1", asIntent)}, a.answers(2), "another batch")

	a = b.asking("tool_call", "call_0_0").claim()
	a.commit(journal.Then{Kind: journal.ThenEnd, Failure: &execution.Failure{Code: "code"}}, func(q *journal.Commit) {
		q.Batch = []execution.CallID{"call_0_0"}
	})
	require.Equal(t, []string{a.answered("call_0_0", asIntent)}, a.answers(2), "an end of its own")
}

func sealedReceipt(t *testing.T, b *bench) {
	a := b.asking("tool_call", "call_0_0", "call_0_1").claim()
	_, err := b.Store.Record(b.ctx(), journal.Record{
		Hold: a.next(), State: journal.Done, Calls: []execution.CallID{"call_0_1"}, Receipts: [][]byte{[]byte(aReceipt)},
	})
	require.NoError(t, err)
	again := a.fork(journal.Fork{Whole: true}) // has no ledger
	a.cancel()
	a.commit(goOn(), func(q *journal.Commit) {
		q.Batch = []execution.CallID{"call_0_0", "call_0_1"}
		q.Plan = []journal.Plan{{CallID: "call_0_1", Intent: []byte(`{"too":"late"}`)}}
	})
	require.Equal(t, []string{a.answered("call_0_0", asIntent), a.answered("call_0_1", asIntent+asReceipt)}, a.answers(2))
	again.cancel()
	require.Empty(t, again.answers(2))
}

func sealedNot(t *testing.T, b *bench) {
	for _, node := range []string{"model_response", "tool_call", "prepare_model_request"} {
		a := b.asking(node)
		a.cancel()
		require.Empty(t, a.answers(2), "%s: no batch", node)
	}
	a := b.asking("tool_call", "call_0_0").claim()
	a.commit(goOn(), func(q *journal.Commit) {
		q.Node, q.Messages = "prepare_model_request", [][]byte{[]byte(`{"role":"tool"}`)}
	})
	a.cancel()
	require.Equal(t, []string{`{"role":"tool"}`}, a.answers(2), "the batch has ended")

	a = b.asking("tool_call", "call_0_0").claim()
	a.cancel()
	a.commit(goOn(), func(q *journal.Commit) { q.Messages = [][]byte{[]byte(`{"role":"tool"}`)} })
	require.Equal(t, []string{`{"role":"tool"}`}, a.answers(2), "ended by the commit that is the last one")
}
