package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"

	"github.com/pawl-run/pawl/backend/local/internal/wire"
	"github.com/pawl-run/pawl/execution"
)

// reasoningField is where servers such as DeepSeek's give a model's reasoning. Those that have it want it back with the
// results of the calls that it led to.
const reasoningField = "reasoning_content"

// think takes in what a chunk holds of the reasoning.
func (a *answer) think(delta sdk.ChatCompletionChunkChoiceDelta) {
	var text string
	field, ok := delta.JSON.ExtraFields[reasoningField]
	if !ok || json.Unmarshal([]byte(field.Raw()), &text) != nil {
		return
	}
	if a.Said += len(text); a.reasoning.Len() <= wire.MaxReasoning {
		a.reasoning.WriteString(text)
	}
}

// state is what is kept of an answer's reasoning; nil when nothing will want it back.
func (a *answer) state(name string) *execution.ProviderState {
	if a.reasoning.Len() == 0 || a.reasoning.Len() > wire.MaxReasoning || len(a.calls) == 0 {
		return nil
	}
	data, err := json.Marshal(a.reasoning.String())
	if err != nil {
		return nil // a Go string always encodes
	}
	return &execution.ProviderState{Name: name, Data: data}
}

// giveBack adds the reasoning that this model left with an answer.
func (m *Model) giveBack(said *sdk.ChatCompletionAssistantMessageParam, message execution.Message) {
	var text string
	if json.Unmarshal(m.settings.State(message), &text) == nil && text != "" {
		said.SetExtraFields(map[string]any{reasoningField: text})
	}
}
