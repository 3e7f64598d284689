package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// wordsPerDelta is how many words of a text go into one frame.
const wordsPerDelta = 3

// errTimeout is the cause of a context that ended because the model's own timeout passed.
var errTimeout = errors.New("the model's timeout has passed")

// Model plays a script.
type Model struct {
	turns   []agent.ScriptedTurn
	timeout time.Duration // 0: none
}

// New makes the scripted model of a definition.
func New(definition agent.Model) (*Model, error) {
	if len(definition.Turns) == 0 {
		return nil, errors.New("the scripted model needs at least one turn")
	}
	return &Model{turns: definition.Turns, timeout: definition.Timeout}, nil
}

// Factory is the local.ModelFactory of provider "scripted".
func Factory(_ context.Context, definition *agent.Definition, _ local.Lookup) (local.Model, error) {
	return New(definition.Model)
}

// Generate plays entry number request.Attempt, or the last one when there are fewer. It returns promptly when ctx ends,
// with the cause wrapped. Usage is nil when the entry names none.
func (m *Model) Generate(ctx context.Context, request local.ModelRequest, sink local.Sink) (local.ModelResponse, error) {
	turn := m.turns[max(0, min(request.Attempt, len(m.turns)-1))]
	if err := m.wait(ctx, turn.Delay); err != nil {
		return local.ModelResponse{}, err
	}
	if turn.Error != nil {
		return local.ModelResponse{}, failure(*turn.Error)
	}
	for _, delta := range deltas(turn.Text) {
		sink.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: delta})
	}
	response := local.ModelResponse{Text: turn.Text, FinishReason: "stop"}
	for i, call := range turn.ToolCalls {
		response.FinishReason = "tool_calls"
		arguments := call.Arguments
		if len(arguments) == 0 {
			arguments = json.RawMessage(`{}`)
		}
		response.ToolCalls = append(response.ToolCalls, execution.ToolCall{
			Name:       call.Name,
			Arguments:  arguments,
			ProviderID: fmt.Sprintf("scripted_%d_%d", request.Attempt, i),
		})
	}
	if turn.Usage != nil {
		output := turn.Usage.OutputTokens
		if most := request.MaxOutputTokens; most > 0 && output > most { // as a provider keeps to the bound
			output, response.FinishReason = most, "length"
		}
		response.Usage = &execution.Usage{
			InputTokens: turn.Usage.InputTokens, OutputTokens: output, TotalTokens: turn.Usage.InputTokens + output,
		}
	}
	return response, nil
}

// wait lets delay pass. A delay longer than the model's timeout ends as a slow provider's would.
func (m *Model) wait(ctx context.Context, delay time.Duration) error {
	if m.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, m.timeout, errTimeout)
		defer cancel()
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	// Asked again, because with both channels ready select may take the timer.
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, errTimeout) {
		return &local.Error{Kind: local.Transient, Code: "timeout", Message: "the scripted model did not answer in time", Err: cause}
	}
	return fmt.Errorf("scripted model: %w", cause)
}

// deltas cuts text after every few words; together they are the text.
func deltas(text string) []string {
	var out []string
	words := strings.SplitAfter(text, " ")
	for len(words) > 0 {
		n := min(wordsPerDelta, len(words))
		if delta := strings.Join(words[:n], ""); delta != "" {
			out = append(out, delta)
		}
		words = words[n:]
	}
	return out
}
