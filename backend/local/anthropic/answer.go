package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wire"
	"github.com/pawl-run/pawl/execution"
)

// answer puts the events of a stream together.
type answer struct {
	wire.Answer
	calls     []*call
	byIndex   map[int64]*call // the block of an index; absent for blocks that are no call
	stopped   bool
	tooMany   bool
	input     int64 // input tokens apart from cached ones
	thoughts  []*thinking
	thoughtAt map[int64]*thinking // by the index of their blocks
	thought   int                 // bytes of them
}

// call is a tool call whose arguments are still coming.
type call struct {
	id, name  string
	input     json.RawMessage // what the block began with, usually {}
	arguments strings.Builder
}

func newAnswer(sink local.Sink) *answer {
	return &answer{Answer: wire.Answer{Sink: sink}, byIndex: map[int64]*call{}, thoughtAt: map[int64]*thinking{}}
}

// add takes one event. Thinking, which is kept apart, and what the provider's own tools say are not the answer's.
func (a *answer) add(event sdk.MessageStreamEventUnion) {
	a.Begun = true
	switch event.Type {
	case "message_start":
		u := event.Message.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "content_block_start":
		a.begin(event.Index, event.ContentBlock)
	case "content_block_delta":
		a.Said += len(event.Delta.Text) + len(event.Delta.PartialJSON) + len(event.Delta.Thinking)
		switch event.Delta.Type {
		case "text_delta":
			a.Say(event.Delta.Text)
		case "thinking_delta", "signature_delta":
			a.think(a.thoughtAt[event.Index], event.Delta.Thinking, event.Delta.Signature)
		case "input_json_delta":
			if c := a.byIndex[event.Index]; c != nil {
				c.arguments.WriteString(event.Delta.PartialJSON)
			}
		}
	case "message_delta":
		if event.Delta.StopReason != "" {
			a.Finish = string(event.Delta.StopReason)
		}
		u := event.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "message_stop":
		a.stopped = true
	}
}

func (a *answer) begin(index int64, block sdk.ContentBlockStartEventContentBlockUnion) {
	switch block.Type {
	case "text":
		a.Say(block.Text)
	case "thinking", "redacted_thinking":
		a.beginThinking(index, block)
	case "tool_use":
		if len(a.calls) == wire.MaxCalls {
			a.tooMany = true
			return
		}
		c := &call{id: block.ID, name: block.Name}
		if input, err := json.Marshal(block.Input); err == nil && block.Input != nil {
			c.input = input
		}
		a.calls = append(a.calls, c)
		a.byIndex[index] = c
	}
}

// count takes counts so far. They are cumulative, and later events may leave some out. Cached input is input.
func (a *answer) count(input, cacheRead, cacheWrite, output int64) {
	if a.Usage == nil {
		a.Usage = &execution.Usage{}
	}
	u := a.Usage
	a.input = max(a.input, input)
	u.CacheReadTokens, u.CacheWriteTokens = max(u.CacheReadTokens, cacheRead), max(u.CacheWriteTokens, cacheWrite)
	u.OutputTokens = max(u.OutputTokens, output)
	u.InputTokens = a.input + u.CacheReadTokens + u.CacheWriteTokens
	u.TotalTokens = u.InputTokens + u.OutputTokens
}

// response is the whole answer.
func (a *answer) response() (local.ModelResponse, error) {
	switch {
	case a.Finish == "" && a.Usage == nil:
		return a.Partial(), wire.Malformed("it holds no answer")
	case a.Finish == "":
		return a.Partial(), wire.Cut()
	case a.Finish == "refusal":
		return a.Partial(), wire.Filtered()
	case a.tooMany:
		return a.Partial(), wire.Malformed(fmt.Sprintf("it asks for more than %d tool calls", wire.MaxCalls))
	}
	response := local.ModelResponse{Text: a.Text.String(), FinishReason: a.reason(), Usage: a.Usage}
	for _, c := range a.calls {
		if c.name == "" {
			return a.Partial(), wire.Malformed("a tool call has no name")
		}
		arguments := json.RawMessage(c.arguments.String())
		if len(arguments) == 0 {
			arguments = c.input
		}
		response.ToolCalls = append(response.ToolCalls, execution.ToolCall{Name: c.name, Arguments: arguments, ProviderID: c.id})
	}
	return response, nil
}

// reason is why the answer ended, in the words of every provider.
func (a *answer) reason() string {
	switch a.Finish {
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool_calls"
	case "end_turn", "stop_sequence":
		return "stop"
	}
	return "other"
}
