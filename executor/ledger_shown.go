package executor

import (
	"errors"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// LedgerCall is what a client sees of a ledger entry: the call as it is planned now, and its result once it has a receipt.
// Whoever shows ledgers gets it as a function value. It returns ErrCheckpoint when the intent or the receipt cannot be read,
// with what the other one says.
func LedgerCall(stored journal.LedgerEntry) (call execution.ToolCall, result *execution.ToolResult, err error) {
	call = execution.ToolCall{CallID: stored.CallID}
	if stored.Intent != nil {
		planned, bad := decodeIntent("", stored) // whose it is, the call does not say
		if err = bad; err == nil {
			call = planned.Call
			call.ProviderID = "" // between the adapter and its provider
		}
	}
	if stored.Receipt == nil {
		return call, nil, err
	}
	received, bad := decodeReceipt(stored.Receipt)
	if bad != nil {
		return call, nil, errors.Join(err, bad)
	}
	return call, &received, err
}
