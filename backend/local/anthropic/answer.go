package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wire"
	"github.com/pawl-run/pawl/execution"
)

// maxCalls bounds the calls of one answer.
const maxCalls = 1000

// answer puts the events of a stream together.
type answer struct {
	sink      local.Sink
	text      strings.Builder
	calls     []*call
	byIndex   map[int64]*call // the block of an index; absent for blocks that are no call
	finish    string
	stopped   bool
	tooMany   bool
	usage     *execution.Usage
	begun     bool  // something of it has arrived
	said      int   // bytes of text, reasoning and arguments that arrived
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
	return &answer{sink: sink, byIndex: map[int64]*call{}, thoughtAt: map[int64]*thinking{}}
}

// add takes one event. Thinking, which is kept apart, and what the provider's own tools say are not the answer's.
func (a *answer) add(event sdk.MessageStreamEventUnion) {
	a.begun = true
	switch event.Type {
	case "message_start":
		u := event.Message.Usage
		a.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens)
	case "content_block_start":
		a.begin(event.Index, event.ContentBlock)
	case "content_block_delta":
		a.said += len(event.Delta.Text) + len(event.Delta.PartialJSON) + len(event.Delta.Thinking)
		switch event.Delta.Type {
		case "text_delta":
			a.say(event.Delta.Text)
		case "thinking_delta", "signature_delta":
			a.think(a.thoughtAt[event.Index], event.Delta.Thinking, event.Delta.Signature)
		case "input_json_delta":
			if c := a.byIndex[event.Index]; c != nil {
				c.arguments.WriteString(event.Delta.PartialJSON)
			}
		}
	case "message_delta":
		if event.Delta.StopReason != "" {
			a.finish = string(event.Delta.StopReason)
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
		a.say(block.Text)
	case "thinking", "redacted_thinking":
		a.beginThinking(index, block)
	case "tool_use":
		if len(a.calls) == maxCalls {
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

func (a *answer) say(text string) {
	if text == "" {
		return
	}
	a.text.WriteString(text)
	a.sink.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: text})
}

// count takes counts so far. They are cumulative, and later events may leave some out. Cached input is input.
func (a *answer) count(input, cacheRead, cacheWrite, output int64) {
	if a.usage == nil {
		a.usage = &execution.Usage{}
	}
	u := a.usage
	a.input = max(a.input, input)
	u.CacheReadTokens, u.CacheWriteTokens = max(u.CacheReadTokens, cacheRead), max(u.CacheWriteTokens, cacheWrite)
	u.OutputTokens = max(u.OutputTokens, output)
	u.InputTokens = a.input + u.CacheReadTokens + u.CacheWriteTokens
	u.TotalTokens = u.InputTokens + u.OutputTokens
}

func (a *answer) ended() bool { return a.finish != "" }

// partial is what is worth keeping of an answer that failed.
func (a *answer) partial() local.ModelResponse { return local.ModelResponse{Usage: a.usage} }

// response is the whole answer.
func (a *answer) response() (local.ModelResponse, error) {
	switch {
	case a.finish == "" && a.usage == nil:
		return a.partial(), wire.Malformed("it holds no answer")
	case a.finish == "":
		return a.partial(), wire.Cut()
	case a.finish == "refusal":
		return a.partial(), wire.Filtered()
	case a.tooMany:
		return a.partial(), wire.Malformed("it asks for more than 1000 tool calls")
	}
	response := local.ModelResponse{Text: a.text.String(), FinishReason: a.reason(), Usage: a.usage}
	for _, c := range a.calls {
		if c.name == "" {
			return a.partial(), wire.Malformed("a tool call has no name")
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
	switch a.finish {
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool_calls"
	case "end_turn", "stop_sequence":
		return "stop"
	}
	return "other"
}
