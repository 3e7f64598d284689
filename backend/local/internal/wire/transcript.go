package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// IDs gives every call of a transcript an id of its own towards the provider: the provider's own where it can be used,
// else one made from the call's place, which is the same whenever the transcript is sent. The zero value is not usable.
type IDs struct {
	valid  func(id string) bool
	used   map[string]bool
	byCall map[execution.CallID]string
	calls  int
}

// NewIDs begins a transcript. valid says whether the provider takes an id.
func NewIDs(valid func(id string) bool) *IDs {
	return &IDs{valid: valid, used: map[string]bool{}, byCall: map[execution.CallID]string{}}
}

// Call is the id of the transcript's next call. A model chooses its own ids and may have chosen any of those that are made,
// so they are counted up until one is free.
func (ids *IDs) Call(call execution.ToolCall) string {
	ids.calls++
	id := call.ProviderID
	if id == "" || ids.used[id] || !ids.valid(id) {
		id = fmt.Sprintf("call_p%d", ids.calls)
	}
	for n := len(ids.used); ids.used[id]; n++ {
		id = fmt.Sprintf("call_p%dx%d", ids.calls, n)
	}
	ids.used[id] = true
	ids.byCall[call.CallID] = id
	return id
}

// Result is the id of the call that a result answers: the last one of that name, because call ids repeat from one
// execution of a conversation to the next.
func (ids *IDs) Result(id execution.CallID) (string, bool) {
	found, ok := ids.byCall[id]
	return found, ok
}

// ToolName is a name that every provider takes. A model that invented one would otherwise have every later request refused.
func ToolName(name string) string {
	const longest = 64
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		return "unnamed"
	}
	return clean[:min(len(clean), longest)]
}

// Arguments are a call's arguments as the object that providers insist on. Anything else a model wrote is kept inside one.
func Arguments(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return json.RawMessage(`{}`)
	case raw[0] == '{' && json.Valid(raw):
		return raw
	case !json.Valid(raw):
		raw, _ = json.Marshal(string(raw)) // a Go string always encodes
	}
	return json.RawMessage(`{"invalid_arguments":` + string(raw) + `}`)
}

// ResultText is a result as the model reads it: the text itself, or JSON.
func ResultText(result *execution.ToolResult) string {
	var text string
	if json.Unmarshal(result.Content, &text) == nil {
		return text
	}
	return string(result.Content)
}

// noText stands for a text of white space only, which some providers refuse.
const noText = "(no text)"

// Visible is a text that every provider takes.
func Visible(text string) string {
	if strings.TrimSpace(text) == "" {
		return noText
	}
	return text
}

// WithSchema adds to the instructions what a provider cannot be told otherwise.
func WithSchema(instructions string, schema json.RawMessage) string {
	text := "Answer with one JSON value and nothing around it. It must fit this JSON Schema:\n" + string(schema)
	if strings.TrimSpace(instructions) == "" {
		return text
	}
	return instructions + "\n\n" + text
}
