// Package human is the tool whose calls a person answers: a call becomes a question, and what the person says becomes the
// call's result.
//
// It has no effect of its own, so a call may be asked again after a crash. It must not know how the question reaches the
// person, nor wait for the answer.
package human

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// Tool asks a person. The argument "question" is what the person reads.
type Tool struct {
	declared agent.Tool // immutable
}

// New makes the human tool of a declaration.
func New(declared agent.Tool) *Tool { return &Tool{declared: declared} }

// Factory is the local.ToolFactory of type "human".
func Factory(_ context.Context, _ *agent.Definition, declared agent.Tool, _ local.Lookup) (local.Tool, error) {
	return New(declared), nil
}

// Spec is the tool as the loop and the model see it. Asking has no effect outside, so a call may always be asked again.
func (t *Tool) Spec() local.ToolSpec {
	return local.ToolSpec{
		Name:        t.declared.Name,
		Description: t.declared.Description,
		Parameters:  t.declared.Parameters,
		Recovery:    agent.ReadOnly,
		OnUnknown:   agent.UnknownAsk,
		MaxRetries:  t.declared.MaxRetries,
	}
}

// Call is the question. Without one, it is an error result that tells the model what is missing.
func (t *Tool) Call(_ context.Context, call local.Invocation, _ local.Sink) (local.Answer, error) {
	var arguments struct {
		Question string `json:"question"`
	}
	err := json.Unmarshal(call.Call.Arguments, &arguments)
	if err != nil || strings.TrimSpace(arguments.Question) == "" {
		result := execution.ErrorResult(call.Call, execution.ToolInvalidArguments,
			`the argument "question" is required: the text that the person is asked`)
		return local.Answer{Result: &result}, nil
	}
	return local.Answer{Question: &local.Question{
		Kind:         execution.Elicitation,
		Prompt:       arguments.Question,
		ExpiresAfter: t.declared.ExpiresAfter,
		OnExpiry:     t.declared.OnExpiry,
	}}, nil
}
