package executor

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/execution"
)

// maxDepth bounds how deep a JSON value from outside may be nested. Decoders give up on documents that are too deep, and
// every value is stored inside others: one at a decoder's own limit could be written and never read again.
const maxDepth = 1000

// asJSON makes any bytes a JSON value that everybody can read: valid JSON stays, nothing becomes empty, anything else
// (also what is nested too deep) becomes a JSON string. Bytes that are no UTF-8 are replaced.
func asJSON(data json.RawMessage, empty string) json.RawMessage {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return json.RawMessage(empty)
	}
	if !utf8.Valid(trimmed) {
		trimmed = []byte(strings.ToValidUTF8(string(trimmed), "\uFFFD"))
	}
	if json.Valid(trimmed) && !tooDeep(trimmed) {
		return json.RawMessage(trimmed)
	}
	text, err := json.Marshal(string(trimmed))
	if err != nil {
		return json.RawMessage(empty) // a Go string always encodes
	}
	return text
}

// tooDeep reports whether valid JSON is nested deeper than maxDepth.
func tooDeep(data []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
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
