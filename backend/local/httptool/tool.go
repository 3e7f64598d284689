package httptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// Tool is one http tool. Its secrets are resolved when it is built.
type Tool struct {
	client   *Client
	declared agent.Tool
	url      string // resolved
	probeURL string // resolved; empty when there is no probe
	header   http.Header
}

// probing is a Tool that has a status probe. Only it is a local.Prober.
type probing struct{ *Tool }

// Factory is the local.ToolFactory of type "http".
func (c *Client) Factory(_ context.Context, _ *agent.Definition, declared agent.Tool, lookup local.Lookup) (local.Tool, error) {
	return c.New(declared, lookup)
}

// New makes the http tool of a declaration. The result is a local.Prober when the declaration has a probe. Errors name the
// key and the variable, never a value.
func (c *Client) New(declared agent.Tool, lookup local.Lookup) (local.Tool, error) {
	tool := &Tool{client: c, declared: declared, header: http.Header{}}
	var err error
	if tool.url, err = resolveURL("url", declared.URL, lookup); err != nil {
		return nil, err
	}
	for name, value := range declared.Headers {
		resolved, err := agent.Resolve(value, lookup)
		if err != nil {
			return nil, fmt.Errorf("headers.%s: %w", name, err)
		}
		if !agent.ValidHeaderValue(resolved) {
			return nil, fmt.Errorf("headers.%s: must not hold line breaks or control characters", name)
		}
		tool.header.Set(name, resolved)
	}
	if declared.Probe == nil {
		return tool, nil
	}
	if tool.probeURL, err = resolveURL("probe.url", declared.Probe.URL, lookup); err != nil {
		return nil, err
	}
	return probing{tool}, nil
}

func resolveURL(key, value string, lookup local.Lookup) (string, error) {
	resolved, err := agent.Resolve(value, lookup)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	if problem := agent.CheckURL(resolved); problem != "" {
		return "", fmt.Errorf("%s: %s", key, problem)
	}
	return resolved, nil
}

// Spec is the tool as the loop and the model see it.
func (t *Tool) Spec() local.ToolSpec {
	return local.ToolSpec{
		Name:        t.declared.Name,
		Description: t.declared.Description,
		Parameters:  t.declared.Parameters,
		Timeout:     t.declared.Timeout,
		Recovery:    t.declared.Recovery,
		OnUnknown:   t.declared.OnUnknown,
		MaxRetries:  t.declared.MaxRetries,
		Approval:    t.declared.Approval,
		Sequential:  t.declared.Sequential,
		Delegated:   t.declared.Auth == agent.AuthDelegation,
	}
}

// callBody is what a tool's server reads of a call.
type callBody struct {
	ExecutionID execution.ID     `json:"executionId"`
	CallID      execution.CallID `json:"callId"`
	Arguments   json.RawMessage  `json:"arguments"`
}

// Call sends the call and makes an answer of what comes back, as the package's table says. When ctx ends, the connection is
// closed before Call returns, and the error wraps both ctx's error and its cause.
func (t *Tool) Call(ctx context.Context, call local.Invocation, _ local.Sink) (local.Answer, error) {
	arguments := call.Call.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	body, err := json.Marshal(callBody{call.Execution, call.Call.CallID, arguments})
	if err != nil {
		result := execution.ErrorResult(call.Call, execution.ToolInvalidArguments, "the arguments are not JSON")
		return local.Answer{Result: &result}, nil
	}
	reply, sendErr, err := t.sendAs(ctx, request{url: t.url, body: body, idempotencyKey: call.EffectID, bearer: call.Credential}, call.Bearer)
	switch {
	case err != nil:
		return t.untaken(call.Call, err)
	case sendErr != nil:
		return local.Answer{}, t.failure(sendErr)
	}
	if question := t.deferred(call.Call, reply); question != nil {
		return local.Answer{Question: question}, nil
	}
	result, err := t.result(call.Call, reply)
	if err != nil {
		return local.Answer{}, err
	}
	return local.Answer{Result: result}, nil
}

// failure classifies a request that brought no answer.
func (t *Tool) failure(err *sendError) *local.Error {
	classified := &local.Error{Kind: local.Transient, Code: "tool_unreachable", Err: err.cause}
	if err.sent {
		classified.Kind, classified.Code = t.afterSend(), "tool_connection_lost"
	}
	switch {
	case errors.Is(err.cause, errTimeout), errors.Is(err.cause, context.DeadlineExceeded):
		classified.Code = "tool_timeout"
	case err.canceled:
		classified.Code = "canceled"
	}
	classified.Message = fmt.Sprintf("tool %s: %v", t.declared.Name, err.cause)
	return classified
}

// afterSend is the kind of a failure behind which the call may have happened. For a reconcile tool that is unknown as
// well: its probe must be asked before the call is sent again.
func (t *Tool) afterSend() local.ErrorKind {
	if t.resendable() {
		return local.Transient
	}
	return local.Unknown
}

// resendable reports whether a call may be sent again without asking anybody.
func (t *Tool) resendable() bool {
	return t.declared.Recovery == agent.ReadOnly || t.declared.Recovery == agent.Idempotent
}
