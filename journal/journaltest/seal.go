package journaltest

import (
	"encoding/json"
	"slices"
	"strings"
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
		{name: "case E2: calls that were answered are left alone", run: sealedNot},
	}
}

// asks is an assistant's message with tool calls.
func asks(t *testing.T, calls ...execution.CallID) []byte {
	t.Helper()
	message := execution.Message{Role: execution.RoleAssistant, Text: `a "look"`}
	for _, call := range calls {
		message.ToolCalls = append(message.ToolCalls, execution.ToolCall{
			CallID: call, Name: `look/up "é"`, Arguments: json.RawMessage(`{"n":12345678901234567890}`),
		})
	}
	data, err := json.Marshal(message)
	require.NoError(t, err)
	return data
}

// answers are the results at the end of the execution's history, behind the message at the index.
func (a *actor) answers(from int) (results []execution.ToolResult) {
	a.b.t.Helper()
	messages, err := a.b.Store.Messages(a.b.ctx(), a.id, from, 100)
	require.NoError(a.b.t, err)
	for _, data := range messages {
		var message execution.Message
		if json.Unmarshal(data, &message) != nil || message.Role != execution.RoleTool {
			break
		}
		require.Equal(a.b.t, a.id, message.Execution)
		results = append(results, *message.ToolResult)
	}
	return results
}

// asking brings an execution to a boundary with open calls.
func (b *bench) asking(node string, calls ...execution.CallID) *actor {
	b.t.Helper()
	a := b.reserve().claim()
	a.commit(goOn(), func(q *journal.Commit) {
		q.Node, q.Messages, q.Batch = node, [][]byte{asks(b.t, calls...)}, calls
		for _, call := range calls {
			q.Plan = append(q.Plan, journal.Plan{CallID: call, Intent: []byte("intent")})
		}
	})
	return a
}

func sealed(t *testing.T, b *bench) {
	want := []execution.ToolResult{
		execution.ErrorResult(execution.ToolCall{CallID: "call_0_0", Name: `look/up "é"`}, execution.ToolExecution, journal.SealedText),
		execution.ErrorResult(execution.ToolCall{CallID: "call_0_1", Name: `look/up "é"`}, execution.ToolExecution, journal.SealedText),
	}
	for _, node := range []string{"model_response", "tool_call", "tool_return"} {
		a := b.asking(node, "call_0_0", "call_0_1")
		next := a.take(execution.BusyInterrupt, "stop")
		require.Equal(t, want, a.answers(2), node)
		messages, err := b.Store.Messages(b.ctx(), next.id, 4, 10)
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("stop")}, messages, "behind the results")
		require.Equal(t, 4, a.row().HistoryEnd)
		require.Equal(t, 4, next.row().HistoryStart)

		a = b.asking(node, "call_0_0", "call_0_1")
		next = a.take(execution.BusyRollback, "stop")
		require.Equal(t, want, a.answers(2), node)
		next.hears("stop")

		a = b.asking(node, "call_0_0", "call_0_1").claim()
		a.cancel()
		a.release()
		require.Equal(t, want, a.answers(2), "%s, however it ends", node)
	}
	a := b.reserve().claim() // the cancel is carried out by the commit that asks
	a.cancel()
	a.commit(goOn(), func(q *journal.Commit) { q.Node, q.Messages = "model_response", [][]byte{asks(t, "call_0_0")} })
	require.Equal(t, want[:1], a.answers(2))
}

func sealedReceipt(t *testing.T, b *bench) {
	a := b.asking("tool_call", "call_0_0", "call_0_1").claim()
	result := execution.ToolResult{CallID: "call_0_1", Name: `look/up "é"`, Content: json.RawMessage(`{"n":12345678901234567890,"a":[]}`)}
	receipt := slices.Concat([]byte(`{"v":1,"result":`), mustJSON(t, result), []byte(`}`))
	_, err := b.Store.Record(b.ctx(), journal.Record{
		Hold: a.next(), State: journal.Done, Calls: []execution.CallID{"call_0_1"}, Receipts: [][]byte{receipt},
	})
	require.NoError(t, err)
	a.cancel()
	a.release()
	answers := a.answers(2)
	require.Len(t, answers, 2)
	require.True(t, answers[0].IsError)
	require.Equal(t, result, answers[1])
}

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return data
}

func sealedNot(t *testing.T, b *bench) {
	a := b.asking("tool_call", "call_0_0").claim()
	result := mustJSON(t, execution.Message{
		Role: execution.RoleTool, ToolResult: &execution.ToolResult{CallID: "call_0_0", Name: "x", Content: json.RawMessage(`1`)},
	})
	a.commit(goOn(), func(q *journal.Commit) { q.Node, q.Messages = "prepare_model_request", [][]byte{result} })
	a.cancel()
	messages, err := b.Store.Messages(b.ctx(), a.id, 0, 100)
	require.NoError(t, err)
	require.Len(t, messages, 3)

	for _, text := range []string{
		"no JSON", `[]`, `{"role":"assistant"}`, `{"role":"assistant","toolCalls":null}`, `{"role":"assistant","toolCalls":[7]}`,
		`{"role":"assistant","toolCalls":[{"callId":7,"name":"x"}]}`, `{"role":"user","toolCalls":[{"callId":"c","name":"x"}]}`,
		strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	} {
		plain := b.reserve().claim()
		plain.commit(goOn(), func(q *journal.Commit) { q.Node, q.Messages = "tool_call", [][]byte{[]byte(text)} })
		plain.cancel()
		plain.hears("hello", text)
	}
}
