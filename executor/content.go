package executor

import (
	"bytes"
	"encoding/json"

	"github.com/pawl-run/pawl/execution"
)

// asJSON makes any bytes a JSON value: valid JSON stays, nothing becomes empty, anything else becomes a JSON string.
func asJSON(data json.RawMessage, empty string) json.RawMessage {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return json.RawMessage(empty)
	}
	if json.Valid(trimmed) {
		return json.RawMessage(trimmed)
	}
	text, err := json.Marshal(string(trimmed))
	if err != nil {
		return json.RawMessage(empty) // a Go string always encodes
	}
	return text
}

// normalize makes a result fit for the ledger and the history: it names its call, and its content is JSON.
func normalize(call execution.ToolCall, result execution.ToolResult) execution.ToolResult {
	result.CallID, result.Name = call.CallID, call.Name
	result.Content = asJSON(result.Content, "null")
	if result.IsError && result.ErrorKind == "" {
		result.ErrorKind = execution.ToolExecution
	}
	return result
}
