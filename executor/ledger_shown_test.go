package executor

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestLedgerCallShowsWhatCanBeRead(t *testing.T) {
	t.Parallel()
	call := execution.ToolCall{CallID: "call_0_0", Name: "lookup", Arguments: json.RawMessage(`{"city":"Oslo"}`), ProviderID: "toolu_hidden"}
	plan, err := newPlan("exec", call)
	require.NoError(t, err)
	result := execution.TextResult(call, "found")
	receipt, err := encodeReceipt(result)
	require.NoError(t, err)
	call.ProviderID = ""

	entry := journal.LedgerEntry{CallID: call.CallID, State: journal.Planned, Intent: plan.Intent}
	shown, none, err := LedgerCall(entry)
	require.NoError(t, err)
	require.Equal(t, call, shown)
	require.Nil(t, none)

	entry.State, entry.Receipt = journal.Done, receipt
	shown, got, err := LedgerCall(entry)
	require.NoError(t, err)
	require.Equal(t, call, shown)
	require.Equal(t, &result, got)

	entry.Intent = []byte(`{"v":`)
	shown, got, err = LedgerCall(entry)
	require.ErrorIs(t, err, ErrCheckpoint)
	require.Equal(t, execution.ToolCall{CallID: call.CallID}, shown)
	require.Equal(t, &result, got, "the receipt can be read all the same")

	entry.Intent, entry.Receipt = plan.Intent, []byte(`[]`)
	shown, got, err = LedgerCall(entry)
	require.ErrorIs(t, err, ErrCheckpoint)
	require.Equal(t, call, shown)
	require.Nil(t, got)

	shown, got, err = LedgerCall(journal.LedgerEntry{CallID: call.CallID})
	require.NoError(t, err)
	require.Equal(t, execution.ToolCall{CallID: call.CallID}, shown)
	require.Nil(t, got)
}
