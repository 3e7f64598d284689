package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/scripted"
	"github.com/pawl-run/pawl/execution"
)

const (
	toolAgent = "turns" // calls a tool in every turn
	textAgent = "text"  // answers at once
	toolType  = agent.ToolType("bench")
	toolName  = "lookup"
)

// definitions are the two agents of a spec.
func definitions(spec Spec) (*agent.Catalog, error) {
	var turns []agent.ScriptedTurn
	for range spec.Turns {
		turns = append(turns, agent.ScriptedTurn{
			ToolCalls: []agent.ScriptedToolCall{{Name: toolName, Arguments: json.RawMessage(`{"city":"Oslo"}`)}},
		})
	}
	answer := agent.ScriptedTurn{Text: "Done."}
	tool := agent.Tool{Name: toolName, Type: toolType, Recovery: agent.ReadOnly, MaxRetries: 1}
	return agent.NewCatalog(
		&agent.Definition{
			Name: toolAgent, Backend: "local", Tools: []agent.Tool{tool}, OutputRetries: 1,
			Model: agent.Model{Provider: "scripted", Turns: append(turns, answer)},
		},
		&agent.Definition{
			Name: textAgent, Backend: "local", OutputRetries: 1,
			Model: agent.Model{Provider: "scripted", Turns: []agent.ScriptedTurn{answer}},
		},
	)
}

// newBuilder builds kits with the shipped scripted model and a tool inside the process.
func newBuilder(spec Spec) (local.Builder, error) {
	content, err := json.Marshal(strings.Repeat("x", max(0, spec.ResultBytes-2)))
	if err != nil {
		return nil, fmt.Errorf("bench: result of the tool: %w", err)
	}
	return local.NewBuilder(local.BuilderConfig{
		Models: map[string]local.ModelFactory{"scripted": scripted.Factory},
		Tools: map[agent.ToolType]local.ToolFactory{
			toolType: func(_ context.Context, _ *agent.Definition, declared agent.Tool, _ local.Lookup) (local.Tool, error) {
				return &tool{declared: declared, content: content, delay: spec.ToolDelay}, nil
			},
		},
	})
}

// tool answers with the same text after a while.
type tool struct {
	declared agent.Tool
	content  json.RawMessage
	delay    time.Duration
}

// Spec implements local.Tool.
func (t *tool) Spec() local.ToolSpec {
	return local.ToolSpec{Name: t.declared.Name, Recovery: t.declared.Recovery, MaxRetries: t.declared.MaxRetries}
}

// Call implements local.Tool.
func (t *tool) Call(ctx context.Context, call local.Invocation, _ local.Sink) (local.Answer, error) {
	if t.delay > 0 {
		if err := wait(ctx, t.delay); err != nil {
			return local.Answer{}, fmt.Errorf("bench tool: %w", err)
		}
	}
	return local.Answer{Result: &execution.ToolResult{
		CallID: call.Call.CallID, Name: call.Call.Name, Content: t.content,
	}}, nil
}
