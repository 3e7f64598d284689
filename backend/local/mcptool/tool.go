package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// EffectIDKey is the key of a call's _meta under which servers find the effect id: the same however often the call is
// sent. A server that keeps it can answer a repeated call with the result it gave before.
const EffectIDKey = "pawl/effectId"

// stuck is how long a call may go on after its context ended before its session is given up.
const stuck = 5 * time.Second

// Tool is one tool of a server.
type Tool struct {
	set  *Set
	own  string // the server's name; empty when it is not known yet
	spec local.ToolSpec
}

// Spec is the tool as the loop and the model see it.
func (t *Tool) Spec() local.ToolSpec { return t.spec }

// Call sends the call and makes an answer of what comes back, as the package's table says. When the server needs to know
// something, the answer is a question, and the call with its reply goes on where the server asked.
func (t *Tool) Call(ctx context.Context, call local.Invocation, sink local.Sink) (local.Answer, error) {
	talk, err := resumed(call.Reply)
	if err != nil {
		return local.Answer{}, &local.Error{
			Kind: local.Permanent, Code: "mcp_question_state", Message: fmt.Sprintf("tool %s: %v", t.spec.Name, err), Err: err,
		}
	}
	responses, question, err := talk.ready()
	if err != nil || question != nil {
		return t.ask(call.Call, talk, question, err), nil
	}
	if ctx.Err() != nil {
		return t.unsent(ctx)
	}
	name, refusal, err := t.found(ctx, call.Call)
	switch {
	case err != nil && ctx.Err() != nil:
		return t.unsent(ctx)
	case err != nil:
		return t.unopened(call.Call, err)
	case refusal != nil:
		return local.Answer{Result: refusal}, nil
	}
	done := t.set.server.tryOut(ctx, name)
	answer, err := t.on(ctx, name, call, talk, responses, sink)
	if err == nil && answer.Result != nil {
		done(quiet)
	} else {
		done(unknownManner)
	}
	return answer, err
}

// found is the server's name of the tool, or why it cannot be called. It asks a server that was not asked yet.
func (t *Tool) found(ctx context.Context, call execution.ToolCall) (name string, refusal *execution.ToolResult, err error) {
	if t.own != "" {
		return t.own, nil, nil
	}
	used, err := t.set.server.acquire(ctx)
	if err != nil {
		return "", nil, err
	}
	defer t.set.server.release(used)
	name, refusal = t.name(call)
	return name, refusal, nil
}

// on carries the call out on a session, which is the call's own when the tool is known to ask in the middle of its calls:
// because it did so before, or because this call brings an answer.
func (t *Tool) on(
	ctx context.Context, name string, call local.Invocation, talk *talk, responses mcp.InputResponseMap, sink local.Sink,
) (local.Answer, error) {
	server := t.set.server
	acquire := server.acquire
	if len(talk.Answers) > 0 {
		server.habits.note(asking, name)
	}
	if server.habits.of(name) == asking {
		acquire = server.acquireAlone
	}
	used, err := acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return t.unsent(ctx)
		}
		return t.unopened(call.Call, err)
	}
	return t.carryOut(ctx, used, name, call, talk, responses, sink)
}

// carryOut sends the call on a session and releases it.
func (t *Tool) carryOut(
	ctx context.Context, used *session, name string, call local.Invocation, talk *talk, responses mcp.InputResponseMap, sink local.Sink,
) (local.Answer, error) {
	ctx, sent := withTrip(ctx)
	in := used.floor.enter(name, talk)
	result, err := t.send(ctx, used, in, call, responses, sink)
	question, why, lost := used.floor.asked(in)
	switch {
	case question != nil:
		used.answered.Store(true)
		talk.Open, talk.Round = question.key(), nil
		return t.ask(call.Call, talk, question.prompt(why), nil), nil
	case lost:
		return local.Answer{}, &local.Error{
			Kind: t.afterSend(), Code: "mcp_question_unclear", Message: fmt.Sprintf("tool %s: %v", t.spec.Name, errUnclear), Err: errUnclear,
		}
	case err != nil:
		return t.failure(ctx, used, sent, call.Call, err)
	}
	used.answered.Store(true)
	if !result.NeedsInput() {
		return local.Answer{Result: t.result(call.Call, result)}, nil
	}
	if len(result.InputRequests) == 0 {
		return local.Answer{}, &local.Error{
			Kind: local.Transient, Code: "tool_unavailable", Message: fmt.Sprintf("tool %s: its MCP server is busy", t.spec.Name),
		}
	}
	if err := talk.begin(result); err != nil {
		return t.ask(call.Call, talk, nil, err), nil
	}
	return t.ask(call.Call, talk, talk.Round.next().prompt(""), nil), nil
}

// unsent is a call whose context ended before anything was sent.
func (t *Tool) unsent(ctx context.Context) (local.Answer, error) {
	err := ended(ctx)
	failed := &local.Error{Kind: local.Transient, Code: "canceled", Err: err}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		failed.Code = "tool_timeout"
	}
	failed.Message = fmt.Sprintf("tool %s was not called: %v", t.spec.Name, err)
	return local.Answer{}, failed
}

// name is the server's name of the tool, or why it cannot be called. The server has been asked by now.
func (t *Tool) name(call execution.ToolCall) (string, *execution.ToolResult) {
	if t.own != "" {
		return t.own, nil
	}
	listed, _ := t.set.server.known()
	if err := t.set.missing(listed); err != nil {
		result := execution.ErrorResult(call, execution.ToolNotFound, err.Error())
		return "", &result
	}
	if tool := t.set.find(listed, t.spec.Name); tool != nil {
		return tool.Name, nil
	}
	result := execution.ErrorResult(call, execution.ToolNotFound, "there is no tool of this name: "+call.Name)
	return "", &result
}

// send sends the call and waits for its result or ctx's end, also when the SDK is stuck in a write, or until the call is of
// no use because the server asked. It releases used.
func (t *Tool) send(
	ctx context.Context, used *session, in *flight, call local.Invocation, responses mcp.InputResponseMap, sink local.Sink,
) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	params, stop := t.params(used, in, call, responses, sink)
	type answer struct {
		result *mcp.CallToolResult
		err    error
	}
	answered := make(chan answer, 1)
	done := make(chan struct{})
	t.set.server.calls.Go(func() {
		var got answer
		defer func() { answered <- got }() // last: whoever has the answer finds the session free
		defer t.set.server.release(used)
		defer close(done)
		defer func() { t.set.server.habits.note(asking, used.floor.leave(in)...) }()
		got.result, got.err = used.client.CallTool(ctx, params)
		if own := t.set.server.own; own != nil && ctx.Err() != nil && errors.Is(got.err, ctx.Err()) {
			own.farewells.owe()
		}
	})
	defer stop()
	asked := in.stop
	var patience <-chan time.Time
	for {
		select {
		case got := <-answered:
			return got.result, got.err
		case <-asked: // it has a moment to end by itself
			asked, patience = nil, time.After(stuck)
		case <-patience:
			cancel() // which tells the server
		case <-ctx.Done():
			time.AfterFunc(stuck, func() {
				select {
				case <-done:
				default:
					t.set.server.giveUp(used)
				}
			})
			return nil, ctx.Err()
		}
	}
}

// params are the call as it is sent; stop ends the following of its progress.
func (t *Tool) params(
	used *session, in *flight, call local.Invocation, responses mcp.InputResponseMap, sink local.Sink,
) (params *mcp.CallToolParams, stop func()) {
	arguments := call.Call.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	params = &mcp.CallToolParams{
		Name: in.tool, Arguments: arguments, Meta: mcp.Meta{EffectIDKey: in.talk.effectID(call.EffectID)}, InputResponses: responses,
	}
	if in.talk.Round != nil {
		params.RequestState = in.talk.Round.State
	}
	token, stop := used.follow(func(p *mcp.ProgressNotificationParams) {
		if sink != nil {
			sink.Frame(progressFrame(call.Call.CallID, p))
		}
	})
	params.SetProgressToken(token)
	return params, stop
}
