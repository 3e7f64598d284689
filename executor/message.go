package executor

import (
	"encoding/json"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// sealedText is the result of a tool call without a receipt that was open when its execution ended.
const sealedText = "The run was ended before this call returned. Whether the call had an effect is not known."

// messageVersion is the newest v of messages, replies and results of children that this release reads. It writes none: they have
// the first.
const messageVersion = 1

// storedSeal is what a journal says of a call that was open when its execution ended: what the ledger held of it, as it
// was. See journal.Sealed.
type storedSeal struct {
	CallID  execution.CallID `json:"callId"`
	Intent  json.RawMessage  `json:"intent"`
	Receipt json.RawMessage  `json:"receipt"`
}

// Message decodes a stored message; whoever reads histories gets it as a function value. It is the one place that knows
// the messages which a journal makes of open calls: each becomes the result in the call's receipt, without one an error. It
// returns ErrCheckpoint when the data cannot be read; execution.ErrNewer too, when a later release wrote it.
func Message(data []byte) (execution.Message, error) {
	var stored struct {
		execution.Message
		V      int         `json:"v"`
		Sealed *storedSeal `json:"sealed"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return execution.Message{}, unread("message", data, messageVersion, err)
	}
	message := stored.Message
	if err := checkVersion("message", stored.V, messageVersion); err != nil {
		return message, err
	}
	if stored.Sealed == nil || message.Role != execution.RoleTool || message.ToolResult != nil {
		return message, nil
	}
	result, err := stored.Sealed.result(message.Execution)
	if err != nil {
		return message, err
	}
	message.ToolResult = &result
	return message, nil
}

func (s *storedSeal) result(id execution.ID) (execution.ToolResult, error) {
	if s.Receipt != nil {
		return decodeReceipt(s.Receipt)
	}
	call := execution.ToolCall{CallID: s.CallID}
	if s.Intent != nil {
		planned, err := decodeIntent(id, journal.LedgerEntry{CallID: s.CallID, Intent: s.Intent})
		if err != nil {
			return execution.ToolResult{}, err
		}
		call = planned.Call
	}
	return execution.ErrorResult(call, execution.ToolExecution, sealedText), nil
}
