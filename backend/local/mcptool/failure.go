package mcptool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// ownCodes are the codes with which the SDK marks failures of its own, beside those that a server sends. They are errors
// of the connection and not the server's answer.
var ownCodes = map[int64]bool{-32001: true, -32003: true, -32004: true, -32005: true}

// errTokenRefused is how an answer 401 or 403 reads.
var errTokenRefused = errors.New("it answered")

// failure is what a call without a result comes to: an error result when the server has said no, else an *local.Error.
func (t *Tool) failure(ctx context.Context, used *session, sent *trip, call execution.ToolCall, err error) (local.Answer, error) {
	if why := sent.tokenless(); why != nil && ctx.Err() == nil { // before it was sent, or behind a 401
		return t.untaken(used, call, why)
	}
	if used.http {
		if answer, refused, known := t.status(used, sent, call); known {
			return answer, refused
		}
	}
	var said *jsonrpc.Error
	if ctx.Err() == nil && errors.As(err, &said) && !ownCodes[said.Code] {
		used.answered.Store(true)
		return local.Answer{Result: refusal(call, said)}, nil
	}
	failed := &local.Error{Kind: t.afterSend(), Code: "tool_connection_lost", Err: plain("call it", sent, err)}
	if used.http && !sent.reached() {
		failed.Kind, failed.Code = local.Transient, "tool_unreachable"
	}
	if ctx.Err() != nil {
		failed.Err, failed.Code = ended(ctx), "canceled"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			failed.Code = "tool_timeout"
		}
	}
	failed.Message = fmt.Sprintf("tool %s: %v", t.spec.Name, failed.Err)
	return local.Answer{}, failed
}

// untaken is a call for which there was no token. It has not been carried out.
func (t *Tool) untaken(used *session, call execution.ToolCall, why error) (local.Answer, error) {
	t.set.server.retire(used) // the SDK may have given it up
	failed := &local.Error{
		Kind: local.Transient, Code: "delegation_unavailable", Err: why, RetryAfter: wish(why),
		Message: fmt.Sprintf("tool %s: no token could be had for its MCP server %s", t.spec.Name, t.set.declared.Name),
	}
	return t.unopened(call, failed)
}

// wish is how long an error wants to be left alone.
func wish(err error) time.Duration {
	var classified *local.Error
	if errors.As(err, &classified) {
		return classified.RetryAfter
	}
	return 0
}

// refusal is the server's own error as an error result.
func refusal(call execution.ToolCall, said *jsonrpc.Error) *execution.ToolResult {
	kind := execution.ToolExecution
	if said.Code == jsonrpc.CodeInvalidParams {
		kind = execution.ToolInvalidArguments
	}
	result := execution.ErrorResult(call, kind, said.Message)
	return &result
}

// status decides by the HTTP status of the call's answer; known is false when that says nothing.
func (t *Tool) status(used *session, sent *trip, call execution.ToolCall) (answer local.Answer, err error, known bool) {
	status, after := sent.answer()
	failed := &local.Error{
		Kind: local.Transient, Code: "tool_unavailable", RetryAfter: after,
		Message: fmt.Sprintf("the MCP server of tool %s answered %s", t.spec.Name, statusText(status)),
	}
	switch {
	case status < 300:
		return answer, nil, false
	case status == http.StatusTooManyRequests:
		failed.Code = "tool_rate_limited"
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusServiceUnavailable:
	case status >= 500:
		failed.Kind, failed.Code = t.afterSend(), "tool_failed"
	case (status == http.StatusNotFound || status == http.StatusBadRequest) && used.answered.Load():
		t.set.server.retire(used) // it answered before: it has forgotten the session, and the call with it
		failed.Code = "mcp_session_lost"
	default:
		t.set.server.retire(used)
		if status == http.StatusUnauthorized && t.set.server.own != nil {
			failed.Message = fmt.Sprintf("the MCP server %s does not take the caller's token for the tool %s: it answered %s",
				t.set.declared.Name, t.spec.Name, statusText(status))
		}
		result := execution.ErrorResult(call, execution.ToolExecution, failed.Message)
		return local.Answer{Result: &result}, nil, true
	}
	return answer, failed, true
}

// afterSend is the kind of a failure behind which the call may have happened.
func (t *Tool) afterSend() local.ErrorKind {
	if t.spec.Recovery == agent.ReadOnly || t.spec.Recovery == agent.Idempotent {
		return local.Transient
	}
	return local.Unknown
}

// ended is why ctx ended: its error and its cause.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// plain is an error without addresses, commands or what the other side wrote, any of which may hold a secret.
func plain(what string, sent *trip, err error) error {
	var (
		withURL *url.Error
		network *net.OpError
		path    *os.PathError
		system  *os.SyscallError
		said    *jsonrpc.Error
	)
	status, _ := sent.answer()
	switch {
	case sent.tokenless() != nil:
		return fmt.Errorf("cannot %s: %w", what, sent.tokenless())
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fmt.Errorf("cannot %s: %w %s", what, errTokenRefused, statusText(status))
	case status >= 300:
		return fmt.Errorf("cannot %s: it answered %s", what, statusText(status))
	case errors.As(err, &network), errors.As(err, &withURL):
		return fmt.Errorf("cannot %s: %w", what, local.ConnectionError(err))
	case errors.As(err, &path):
		return fmt.Errorf("cannot %s: %w", what, path.Err)
	case errors.As(err, &system):
		return fmt.Errorf("cannot %s: %w", what, system.Err)
	case errors.As(err, &said) && !ownCodes[said.Code]:
		return fmt.Errorf("cannot %s: it answered with the error %d", what, said.Code)
	case errors.Is(err, mcp.ErrConnectionClosed):
		return fmt.Errorf("cannot %s: the connection was closed", what)
	default:
		return fmt.Errorf("cannot %s: the connection broke or its answer could not be understood", what)
	}
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}
