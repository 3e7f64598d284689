package httptool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// result makes an answer of a reply, or the error that says what may be done about it.
func (t *Tool) result(call execution.ToolCall, r *reply) (*execution.ToolResult, error) {
	if r.refused != nil {
		// Some servers carry a call out and then redirect, so nothing is said about whether it happened.
		return t.errorResult(call, fmt.Sprintf("the tool %s answered with a redirect that is not followed: %v", t.declared.Name, r.refused)), nil
	}
	if err := t.statusError(r, t.afterSend()); err != nil {
		return nil, err
	}
	if r.tooLong {
		result := execution.ErrorResult(call, execution.ToolTooLarge, fmt.Sprintf(
			"the tool %s answered %d with more than %d bytes, the most that is read", t.declared.Name, r.status, t.client.cfg.MaxBody))
		return &result, nil
	}
	if r.status == http.StatusUnauthorized && r.delegated { // whatever it says, it may repeat what it was sent
		return t.errorResult(call, fmt.Sprintf("the server of the tool %s does not take the caller's token: it answered %s",
			t.declared.Name, statusText(r.status))), nil
	}
	failed := r.status >= 300
	body := r.body
	if failed && len(bytes.TrimSpace(body)) == 0 {
		body = []byte(statusText(r.status))
	}
	result := &execution.ToolResult{CallID: call.CallID, Name: call.Name, Content: content(body)}
	if failed {
		result.IsError, result.ErrorKind = true, execution.ToolExecution
	}
	return result, nil
}

func (t *Tool) errorResult(call execution.ToolCall, text string) *execution.ToolResult {
	result := execution.ErrorResult(call, execution.ToolExecution, text)
	return &result
}

// statusError is the error of a status that brings no result, nil for one that does. other is the kind of a 5xx that does
// not say whether the call was carried out.
func (t *Tool) statusError(r *reply, other local.ErrorKind) error {
	err := &local.Error{
		Kind:    local.StatusKind(r.status),
		Message: fmt.Sprintf("the tool %s answered %s", t.declared.Name, statusText(r.status)),
	}
	switch {
	case err.Kind == local.Permanent:
		return nil
	case err.Kind == local.Unknown:
		err.Code, err.Kind = "tool_failed", other
		return err
	case r.status == http.StatusTooManyRequests:
		err.Code = "tool_rate_limited"
	default:
		err.Code = "tool_unavailable"
	}
	err.RetryAfter = local.RetryAfter(r.retryAfter, time.Now())
	return err
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// content is the body itself when it is JSON, else the JSON string of its text.
func content(body []byte) json.RawMessage {
	if json.Valid(body) && utf8.Valid(body) {
		compact := bytes.NewBuffer(make([]byte, 0, len(body)))
		if err := json.Compact(compact, body); err == nil {
			return compact.Bytes()
		}
	}
	text, err := json.Marshal(strings.ToValidUTF8(string(body), "\uFFFD"))
	if err != nil {
		panic(err) // a Go string always encodes
	}
	return text
}
