package delegate

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// errTimeout is the cause with which a run ends at its tool's timeout.
var errTimeout = errors.New("the agent has taken too long")

// Run is a run of an agent of this process.
type Run struct {
	// ID is what the effects of the run are named by: the same however often the call is sent.
	ID     execution.ID
	Prompt string
	local.Grant
}

// RunFunc runs an agent in this process, or leads one that is elsewhere from here. An error says that the run came to no
// result, because ctx ended or the agent cannot be run here; usage is what was spent until then.
type RunFunc func(ctx context.Context, run Run) (result backend.RunResult, usage execution.Usage, err error)

// Config is what the tools are made of. Local is required.
type Config struct {
	Local RunFunc
}

// Tools makes tools that run agents.
type Tools struct {
	cfg Config // immutable
}

// New makes a Tools.
func New(cfg Config) (*Tools, error) {
	if cfg.Local == nil {
		return nil, errors.New("delegate: Local is required")
	}
	return &Tools{cfg: cfg}, nil
}

// Factory is the local.ToolFactory of type "agent".
func (t *Tools) Factory(_ context.Context, _ *agent.Definition, declared agent.Tool, _ local.Lookup) (local.Tool, error) {
	return &Tool{cfg: t.cfg, declared: declared}, nil
}

// Tool runs an agent.
type Tool struct {
	cfg      Config     // immutable
	declared agent.Tool // immutable
}

// Spec is the tool as the loop and the model see it. The tool bounds its calls itself: one that takes too long has a result.
func (t *Tool) Spec() local.ToolSpec {
	return local.ToolSpec{
		Name: t.declared.Name, Description: t.declared.Description, Parameters: t.declared.Parameters,
		Recovery: t.declared.Recovery, OnUnknown: t.declared.OnUnknown, MaxRetries: t.declared.MaxRetries,
		Approval: t.declared.Approval, Sequential: t.declared.Sequential,
		Delegate: &local.Delegate{Agent: t.declared.Agent, Mode: t.declared.Mode, Limits: t.declared.Limits},
	}
}

// Call runs the agent. It returns an error only when nobody knows what became of the run, because ctx ended.
func (t *Tool) Call(ctx context.Context, call local.Invocation, _ local.Sink) (local.Answer, error) {
	prompt, err := local.Prompt(call.Call.Arguments)
	if err != nil {
		result := execution.ErrorResult(call.Call, execution.ToolInvalidArguments, err.Error())
		return local.Answer{Result: &result}, nil
	}
	if call.Grant == nil {
		return local.Answer{}, &local.Error{Kind: local.Permanent, Code: "no_grant", Message: "an agent can only be run by the loop"}
	}
	if timeout := t.declared.Timeout; timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer cancel()
	}
	own := &ownLoop{run: t.cfg.Local, delegate: Run{
		ID: execution.ChildID(call.Execution, call.Call.CallID), Prompt: prompt, Grant: *call.Grant,
	}}
	ran, err := t.execute(ctx, call, own)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errTimeout):
		ran = backend.RunResult{Status: backend.TimeoutStatus()}
	case err != nil && ctx.Err() != nil:
		return local.Answer{Usage: own.usage}, context.Cause(ctx)
	case err != nil:
		ran = backend.RunResult{Status: backend.FailedStatus(err.Error())}
	}
	result := answer(call.Call, ran)
	return local.Answer{Result: &result, Usage: own.usage}, nil
}

// execute hands the run to the loop of this process, by the contract of backends: it also leads agents that are elsewhere.
func (t *Tool) execute(ctx context.Context, call local.Invocation, own *ownLoop) (backend.RunResult, error) {
	message := backend.Message{Message: execution.Message{Role: execution.RoleUser, Text: own.delegate.Prompt}}
	return backend.ResolvedLocal().ExecuteDelegate(ctx, backend.DelegateRunRequest{
		AgentID: own.delegate.Definition.Name, Messages: []backend.Message{message}, NewMessages: []backend.Message{message},
		Parent: backend.ParentContext{ParentRunID: call.Execution, ParentCallID: call.Call.CallID},
		Policy: backend.DefaultDelegatePolicy(), Local: own,
	})
}

// ownLoop is the loop of this process, for one run.
type ownLoop struct {
	run      RunFunc
	delegate Run
	usage    execution.Usage
}

// RunRoot implements backend.LocalRuntime: nobody asks for it.
func (o *ownLoop) RunRoot(context.Context, backend.RootRunRequest) (backend.RunResult, error) {
	return backend.RunResult{}, backend.ExecutionFailed("a delegate is no root")
}

// RunDelegate implements backend.LocalRuntime.
func (o *ownLoop) RunDelegate(ctx context.Context, _ backend.DelegateRunRequest) (backend.RunResult, error) {
	result, usage, err := o.run(ctx, o.delegate)
	o.usage = usage
	return result, err
}

// answer is the call's result. Nobody can answer a run that waits, nor take it up again.
func answer(call execution.ToolCall, ran backend.RunResult) execution.ToolResult {
	said := backend.AnswerOfDelegate(call.CallID, ran)
	switch {
	case said.Ticket != nil:
		return execution.ErrorResult(call, execution.ToolExecution,
			"the agent cannot go on: it would have to wait, and it runs inside a call, where nothing waits: "+said.Text)
	case said.IsError:
		return execution.ErrorResult(call, execution.ToolExecution, said.Text)
	default:
		return execution.TextResult(call, said.Text)
	}
}
