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

// Call sends the call and makes an answer of what comes back, as the package's table says.
func (t *Tool) Call(ctx context.Context, call local.Invocation, sink local.Sink) (local.Answer, error) {
	if ctx.Err() != nil {
		return t.unsent(ctx)
	}
	used, err := t.set.server.acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return t.unsent(ctx)
		}
		return local.Answer{}, err
	}
	name, refusal := t.name(call.Call)
	if refusal != nil {
		t.set.server.release(used)
		return local.Answer{Result: refusal}, nil
	}
	ctx, sent := withTrip(ctx)
	result, err := t.send(ctx, used, name, call, sink)
	if err != nil {
		return t.failure(ctx, used, sent, call.Call, err)
	}
	used.answered.Store(true)
	return local.Answer{Result: t.result(call.Call, result)}, nil
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

// send sends the call and waits for its result or ctx's end, also when the SDK is stuck in a write. It releases used.
func (t *Tool) send(ctx context.Context, used *session, name string, call local.Invocation, sink local.Sink) (*mcp.CallToolResult, error) {
	arguments := call.Call.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	params := &mcp.CallToolParams{Name: name, Arguments: arguments, Meta: mcp.Meta{EffectIDKey: call.EffectID}}
	token, stop := used.follow(func(p *mcp.ProgressNotificationParams) {
		if sink != nil {
			sink.Frame(progressFrame(call.Call.CallID, p))
		}
	})
	params.SetProgressToken(token)
	type answer struct {
		result *mcp.CallToolResult
		err    error
	}
	answered := make(chan answer, 1)
	done := make(chan struct{})
	go func() {
		defer t.set.server.release(used)
		defer close(done)
		result, err := used.client.CallTool(ctx, params)
		answered <- answer{result, err}
	}()
	defer stop()
	select {
	case got := <-answered:
		return got.result, got.err
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
