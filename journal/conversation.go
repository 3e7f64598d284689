package journal

import (
	"encoding/json"

	"github.com/pawl-run/pawl/execution"
)

// Bounds of a conversation.
const (
	// MaxParts is of how many parts a history may be put together: a fork adds one, and a rollback behind messages that stay.
	MaxParts = 1000
	// MaxInherited is how many messages an execution may wait with that those which it interrupted in the line had brought.
	MaxInherited = 1000
)

// Fork says from where a new execution goes on: its conversation is new too and begins with the history of another one.
type Fork struct {
	From execution.Origin
	// Length is how many messages of the other one's history are taken. With Own it counts from where the part begins that
	// the other one added, with Whole it does not count: the history is taken up to the end of that part.
	Length     int
	Own, Whole bool
	// ReadsHistory says that the node behind checkpoint 0 needs the history.
	ReadsHistory bool
}

// SealedText is the result of a tool call that was open when its execution ended.
const SealedText = "The run was ended before this call returned. Whether the call had an effect is not known."

// CarriesCalls reports whether the newest message of an execution that ends at the boundary may be one whose tool calls
// have no results yet.
func CarriesCalls(node string) bool {
	return node == "model_response" || node == "tool_call" || node == "tool_return"
}

// Seal answers the open tool calls of a history, so that it stays one that a model can be sent: last is its newest message,
// receipt gives a call's receipt, nil for none. A call with a receipt gets the result in that, {"v":…,"result":<the
// execution.ToolResult>}, any other one an error. Nothing has to be answered when last asks for no tool.
func Seal(id execution.ID, last []byte, receipt func(execution.CallID) []byte) [][]byte {
	var asked execution.Message
	if json.Unmarshal(last, &asked) != nil || asked.Role != execution.RoleAssistant {
		return nil
	}
	var sealed [][]byte
	for _, call := range asked.ToolCalls {
		result := execution.ErrorResult(call, execution.ToolExecution, SealedText)
		var done struct {
			Result *execution.ToolResult `json:"result"`
		}
		if json.Unmarshal(receipt(call.CallID), &done) == nil && done.Result != nil {
			result = *done.Result
		}
		message, err := json.Marshal(execution.Message{Role: execution.RoleTool, ToolResult: &result, Execution: id})
		if err != nil {
			return nil // unreachable: it was just decoded
		}
		sealed = append(sealed, message)
	}
	return sealed
}
