package executor

import (
	"encoding/json"
	"math"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// How many input tokens a request may cost at most is bounded from its bytes: tokenizers work on bytes, so that no token
// stands for less than one, and what a provider writes around a message, a call or a tool is within the allowances below.
// What a provider has counted before is taken from it: only what came since is bounded from bytes.
const (
	perRequest = 512 // with room for the words by which a model is told of a schema
	perMessage = 32
	perCall    = 160 // with room for the answer that a call without one is given
	perTool    = 64
	anyTool    = 1024    // what providers write in front of the first tool
	perImage   = 100_000 // the dearest image of any provider that is known
)

// Prompt is what a provider counted for the history up to a message.
type Prompt struct {
	Model    string `json:"m"` // which counted
	Tokens   int64  `json:"t"` // for the request and its answer
	Messages int    `json:"n"` // of the history, the answer among them
	Fixed    int64  `json:"f"` // bound of what stood beside the history, which must be the same again
}

// fixedBound bounds what stands beside the history.
func fixedBound(request *local.ModelRequest) int64 {
	bound := int64(perRequest + len(request.Instructions) + len(request.OutputSchema))
	if len(request.Tools) > 0 {
		bound += anyTool
	}
	for _, tool := range request.Tools {
		bound += int64(perTool + len(tool.Name) + len(tool.Description) + len(tool.Parameters))
	}
	return bound
}

// messagesBound bounds messages of the transcript.
func messagesBound(messages []execution.Message) (bound int64) {
	for i := range messages {
		bound = addUp(bound, messageBound(&messages[i]))
	}
	return bound
}

func messageBound(message *execution.Message) int64 {
	plain, images := *message, 0
	plain.Parts = make([]execution.Part, len(message.Parts))
	for i, part := range message.Parts {
		if part.Type != execution.PartText {
			part = execution.Part{}
			images++
		}
		plain.Parts[i] = part
	}
	data, err := json.Marshal(&plain)
	if err != nil {
		return math.MaxInt64 // it could not be sent either
	}
	return int64(len(data) + perMessage + perCall*len(message.ToolCalls) + perImage*images)
}

// inputBound is the most input tokens that the request may cost at the model. history is what its messages were made of.
func (m *machine) inputBound(request *local.ModelRequest, model string) int64 {
	fixed := fixedBound(request)
	known := m.state.Prompt
	if known != nil && known.Model == model && known.Fixed == fixed && known.Messages <= len(m.messages) {
		return addUp(known.Tokens, messagesBound(m.messages[known.Messages:]))
	}
	return addUp(fixed, messagesBound(request.Messages))
}

// counted is what the provider has counted of the history now that it has answered; nil when it did not say.
func (m *machine) counted(request *local.ModelRequest, model string, response *local.ModelResponse) *Prompt {
	if response.Usage == nil || response.Usage.Partial || response.Usage.InputTokens == 0 {
		return nil
	}
	tokens := addUp(response.Usage.InputTokens, response.Usage.OutputTokens)
	return &Prompt{
		Model: model, Fixed: fixedBound(request), Messages: len(m.messages) + 1,
		Tokens: addUp(tokens, int64(perMessage+perCall*len(response.ToolCalls))),
	}
}

func addUp(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
