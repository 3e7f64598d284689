package executor

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Case E2: what a journal made of an open call is read as its result.
func TestCaseE2_ASealedCallIsReadAsItsResult(t *testing.T) {
	t.Parallel()
	id := execution.NewID(3)
	call := execution.ToolCall{CallID: "call_0_1", Name: `look/up "é"`, Arguments: json.RawMessage(`{"n":12345678901234567890}`)}
	plan, err := newPlan(id, call)
	require.NoError(t, err)
	unknown := execution.ErrorResult(call, execution.ToolExecution, sealedText)
	nameless := execution.ErrorResult(execution.ToolCall{CallID: "call_0_1"}, execution.ToolExecution, sealedText)
	found := execution.TextResult(call, `"found"`)
	found.Arguments = json.RawMessage(`{"n":2}`)
	receipt, err := encodeReceipt(found)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		intent, receipt []byte
		want            execution.ToolResult
	}{
		"planned":       {intent: plan.Intent, want: unknown},
		"done":          {intent: plan.Intent, receipt: receipt, want: found},
		"receipt alone": {receipt: receipt, want: found},
		"never planned": {want: nameless},
	} {
		message, err := Message(journal.Sealed(id, call.CallID, c.intent, c.receipt))
		require.NoError(t, err, name)
		require.Equal(t, execution.Message{Role: execution.RoleTool, ToolResult: &c.want, Execution: id}, message, name)
	}
}

func TestMessageReadsWhatABoundaryAdded(t *testing.T) {
	t.Parallel()
	result := execution.TextResult(execution.ToolCall{CallID: "call_0_0", Name: "look"}, "found")
	for _, want := range []execution.Message{
		{Role: execution.RoleUser, Text: "sealed"},
		{Role: execution.RoleTool, ToolResult: &result, Execution: "exec"},
		{Role: execution.RoleTool},
	} {
		data, err := json.Marshal(want)
		require.NoError(t, err)
		message, err := Message(data)
		require.NoError(t, err)
		require.Equal(t, want, message)
	}
	for _, text := range []string{
		``, `{"role":7}`, `{"role":"tool","sealed":7}`, `{"role":"tool","sealed":{"callId":"c","intent":"no intent"}}`,
		`{"role":"tool","sealed":{"callId":"c","receipt":"no receipt"}}`,
	} {
		_, err := Message([]byte(text))
		require.ErrorIs(t, err, ErrCheckpoint, text)
	}
}
