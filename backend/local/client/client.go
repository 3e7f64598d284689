// Package client is the tool whose calls the submitting application carries out: a call becomes an interaction of kind
// tool_result, and what the application posts becomes the call's result.
//
// It has no effect of its own, so a call may be asked for again after a crash. It must not know how the call reaches the
// application, nor wait for the result.
package client

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// Tool hands its calls to the application.
type Tool struct {
	declared agent.Tool // immutable
}

// New makes the client tool of a declaration: one of the agent's file, or one that the submission brought.
func New(declared agent.Tool) *Tool { return &Tool{declared: declared} }

// Factory is the local.ToolFactory of type "client".
func Factory(_ context.Context, _ *agent.Definition, declared agent.Tool, _ local.Lookup) (local.Tool, error) {
	return New(declared), nil
}

// Spec is the tool as the loop and the model see it. To ask for a result has no effect outside.
func (t *Tool) Spec() local.ToolSpec {
	return local.ToolSpec{
		Name:        t.declared.Name,
		Description: t.declared.Description,
		Parameters:  t.declared.Parameters,
		Recovery:    agent.ReadOnly,
		OnUnknown:   agent.UnknownAsk,
		MaxRetries:  t.declared.MaxRetries,
		Approval:    t.declared.Approval,
		Sequential:  t.declared.Sequential,
	}
}

// Call asks for the result.
func (t *Tool) Call(_ context.Context, call local.Invocation, _ local.Sink) (local.Answer, error) {
	return local.Answer{Question: &local.Question{
		Kind:         execution.ClientToolResult,
		Prompt:       fmt.Sprintf("The application is to carry out %s (%s).", call.Call.Name, call.Call.CallID),
		ExpiresAfter: t.declared.ExpiresAfter,
		OnExpiry:     t.declared.OnExpiry,
	}}, nil
}
