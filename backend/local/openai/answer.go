package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wire"
	"github.com/pawl-run/pawl/execution"
)

type streamError = ssestream.StreamError

// answer puts the chunks of a stream together.
type answer struct {
	wire.Answer
	thinking  wire.Thinking
	calls     []*call         // in the order in which they began
	byIndex   map[int64]*call // the one that an index stands for now
	refused   bool
	tooMany   bool
	reasoning strings.Builder
}

// call is a tool call whose arguments are still coming.
type call struct {
	id, name  string
	arguments strings.Builder
}

func newAnswer(sink local.Sink) *answer {
	return &answer{Answer: wire.Answer{Sink: sink}, byIndex: map[int64]*call{}}
}

// add takes one chunk. Fields that the API does not have, such as the reasoning of some servers, are not the answer's.
func (a *answer) add(chunk sdk.ChatCompletionChunk) {
	a.Begun = true
	if chunk.JSON.Usage.Valid() {
		a.Usage = usage(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.Said += len(choice.Delta.Content) + len(choice.Delta.Refusal)
		a.think(choice.Delta)
		a.Say(a.thinking.Feed(choice.Delta.Content))
		if choice.Delta.Refusal != "" {
			a.refused = true
			a.Say(choice.Delta.Refusal)
		}
		for _, delta := range choice.Delta.ToolCalls {
			a.addCall(delta)
		}
		if choice.FinishReason != "" {
			a.Finish = choice.FinishReason
		}
	}
}

// addCall takes a piece of a call. Its index says which; some servers give every call the same one, and then a new id
// begins a new call.
func (a *answer) addCall(delta sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	c := a.byIndex[delta.Index]
	if c == nil || (delta.ID != "" && c.id != "" && delta.ID != c.id) {
		if len(a.calls) == wire.MaxCalls {
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
	a.Said += len(delta.Function.Arguments)
}

// response is the whole answer.
func (a *answer) response() (local.ModelResponse, error) {
	switch {
	case a.Finish == "" && a.Text.Len() == 0 && len(a.calls) == 0 && a.Usage == nil:
		return a.Partial(), wire.Malformed("it holds no answer")
	case a.Finish == "":
		return a.Partial(), wire.Cut()
	case a.Finish == "content_filter":
		return a.Partial(), wire.Filtered()
	case a.tooMany:
		return a.Partial(), wire.Malformed(fmt.Sprintf("it asks for more than %d tool calls", wire.MaxCalls))
	}
	a.Say(a.thinking.End())
	response := local.ModelResponse{Text: a.Text.String(), FinishReason: a.reason(), Usage: a.Usage}
	for _, c := range a.calls {
		if c.name == "" {
			return a.Partial(), wire.Malformed("a tool call has no name")
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
	case a.Finish == "length":
		return "length"
	case len(a.calls) > 0: // some servers say stop
		return "tool_calls"
	case a.Finish == "stop", a.Finish == "tool_calls", a.Finish == "function_call":
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
