package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/pawl-run/pawl/backend/local/internal/wire"
	"github.com/pawl-run/pawl/execution"
)

// thought is a block of thinking as it is kept: the API wants it back unchanged with the results of the calls that it led
// to. Redacted is that of a block whose text is not shown.
type thought struct {
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

// thinking is a block of it that is still coming.
type thinking struct {
	text, signature strings.Builder
	redacted        string
}

func (a *answer) beginThinking(index int64, block sdk.ContentBlockStartEventContentBlockUnion) {
	t := &thinking{redacted: block.Data}
	a.thoughts, a.thoughtAt[index] = append(a.thoughts, t), t
	a.thought += len(block.Data)
	a.think(t, block.Thinking, block.Signature)
}

// think takes in a piece of a block of thinking; nil: of another block.
func (a *answer) think(t *thinking, text, signature string) {
	if t == nil {
		return
	}
	if a.thought += len(text) + len(signature); a.thought <= wire.MaxReasoning {
		t.text.WriteString(text)
		t.signature.WriteString(signature)
	}
}

// state is what is kept of an answer; nil when its thinking is not needed again: nothing follows an answer without calls.
func (a *answer) state(name string) *execution.ProviderState {
	if len(a.thoughts) == 0 || len(a.calls) == 0 || a.thought > wire.MaxReasoning {
		return nil
	}
	kept := make([]thought, len(a.thoughts))
	for i, t := range a.thoughts {
		kept[i] = thought{Thinking: t.text.String(), Signature: t.signature.String(), Redacted: t.redacted}
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return nil // strings always encode
	}
	return &execution.ProviderState{Name: name, Data: data}
}

// thoughts are the blocks that an answer began with, as this model left them.
func (m *Model) thoughts(message execution.Message) []sdk.ContentBlockParamUnion {
	var kept []thought
	if json.Unmarshal(m.settings.State(message), &kept) != nil {
		return nil
	}
	blocks := make([]sdk.ContentBlockParamUnion, len(kept))
	for i, one := range kept {
		if one.Redacted != "" {
			blocks[i] = sdk.NewRedactedThinkingBlock(one.Redacted)
		} else {
			blocks[i] = sdk.NewThinkingBlock(one.Signature, one.Thinking)
		}
	}
	return blocks
}

// think asks for thinking and reports whether it did. The API refuses it when the answer has no room for it, and when an
// answer of the turn under way called tools without it: another model's, say.
func (m *Model) think(params *sdk.MessageNewParams, turn []execution.Message) bool {
	budget := m.settings.ThinkingTokens
	if budget == 0 || budget >= params.MaxTokens {
		return false
	}
	for _, message := range turn {
		if len(message.ToolCalls) > 0 && len(m.thoughts(message)) == 0 {
			return false
		}
	}
	params.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
	return true
}
