package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wire"
	"github.com/pawl-run/pawl/execution"
)

type streamError = ssestream.StreamError

// maxCalls bounds the calls of one answer.
const maxCalls = 1000

// answer puts the chunks of a stream together.
type answer struct {
	sink      local.Sink
	thinking  wire.Thinking
	text      strings.Builder
	calls     []*call         // in the order in which they began
	byIndex   map[int64]*call // the one that an index stands for now
	finish    string
	refused   bool
	tooMany   bool
	usage     *execution.Usage
	begun     bool // something of it has arrived
	said      int  // bytes of text, reasoning and arguments that arrived
	reasoning strings.Builder
}

// call is a tool call whose arguments are still coming.
type call struct {
	id, name  string
	arguments strings.Builder
}

func newAnswer(sink local.Sink) *answer {
	return &answer{sink: sink, byIndex: map[int64]*call{}}
}

// add takes one chunk. Fields that the API does not have, such as the reasoning of some servers, are not the answer's.
func (a *answer) add(chunk sdk.ChatCompletionChunk) {
	a.begun = true
	if chunk.JSON.Usage.Valid() {
		a.usage = usage(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.said += len(choice.Delta.Content) + len(choice.Delta.Refusal)
		a.think(choice.Delta)
		a.say(a.thinking.Feed(choice.Delta.Content))
		if choice.Delta.Refusal != "" {
			a.refused = true
			a.say(choice.Delta.Refusal)
		}
		for _, delta := range choice.Delta.ToolCalls {
			a.addCall(delta)
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
}

func (a *answer) say(text string) {
	if text == "" {
		return
	}
	a.text.WriteString(text)
	a.sink.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: text})
}

// addCall takes a piece of a call. Its index says which; some servers give every call the same one, and then a new id
// begins a new call.
func (a *answer) addCall(delta sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	c := a.byIndex[delta.Index]
	if c == nil || (delta.ID != "" && c.id != "" && delta.ID != c.id) {
		if len(a.calls) == maxCalls {
			a.tooMany = true
			return
		}
		c = &call{}
		a.calls = append(a.calls, c)
		a.byIndex[delta.Index] = c
	}
	if delta.ID != "" {
		c.id = delta.ID
	}
	if c.name == "" {
		c.name = delta.Function.Name
	}
	c.arguments.WriteString(delta.Function.Arguments)
	a.said += len(delta.Function.Arguments)
}

func (a *answer) ended() bool { return a.finish != "" }

// partial is what is worth keeping of an answer that failed.
func (a *answer) partial() local.ModelResponse { return local.ModelResponse{Usage: a.usage} }

// response is the whole answer.
func (a *answer) response() (local.ModelResponse, error) {
	switch {
	case a.finish == "" && a.text.Len() == 0 && len(a.calls) == 0 && a.usage == nil:
		return a.partial(), wire.Malformed("it holds no answer")
	case a.finish == "":
		return a.partial(), wire.Cut()
	case a.finish == "content_filter":
		return a.partial(), wire.Filtered()
	case a.tooMany:
		return a.partial(), wire.Malformed("it asks for more than 1000 tool calls")
	}
	a.say(a.thinking.End())
	response := local.ModelResponse{Text: a.text.String(), FinishReason: a.reason(), Usage: a.usage}
	for _, c := range a.calls {
		if c.name == "" {
			return a.partial(), wire.Malformed("a tool call has no name")
		}
		response.ToolCalls = append(response.ToolCalls, execution.ToolCall{
			Name: c.name, Arguments: json.RawMessage(c.arguments.String()), ProviderID: c.id,
		})
	}
	return response, nil
}

// reason is why the answer ended, in the words of every provider.
func (a *answer) reason() string {
	switch {
	case a.refused:
		return "refusal"
	case a.finish == "length":
		return "length"
	case len(a.calls) > 0: // some servers say stop
		return "tool_calls"
	case a.finish == "stop", a.finish == "tool_calls", a.finish == "function_call":
		return "stop"
	}
	return "other"
}

// usage counts cached input as input, as the API does.
func usage(reported sdk.CompletionUsage) *execution.Usage {
	return &execution.Usage{
		InputTokens:      max(0, reported.PromptTokens),
		CacheReadTokens:  max(0, reported.PromptTokensDetails.CachedTokens),
		CacheWriteTokens: max(0, reported.PromptTokensDetails.CacheWriteTokens),
		OutputTokens:     max(0, reported.CompletionTokens),
		TotalTokens:      max(0, reported.TotalTokens),
	}
}
