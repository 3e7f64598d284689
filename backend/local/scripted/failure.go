package scripted

import (
	"fmt"
	"net/http"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

// failure is what a provider's client would make of the status: the same kinds and codes, so that a script shows what a
// real provider's error leads to.
func failure(scripted agent.ScriptedError) *local.Error {
	kind, code := classify(scripted.Status)
	err := &local.Error{
		Kind:    kind,
		Code:    code,
		Message: fmt.Sprintf("the model answered %d %s", scripted.Status, http.StatusText(scripted.Status)),
	}
	if kind == local.Transient {
		err.RetryAfter = scripted.RetryAfter
	}
	return err
}

func classify(status int) (local.ErrorKind, string) {
	switch status {
	case http.StatusRequestTimeout:
		return local.Transient, "timeout"
	case http.StatusConflict:
		return local.Transient, "conflict"
	case http.StatusTooManyRequests:
		return local.Transient, "rate_limited"
	case http.StatusServiceUnavailable, 529: // 529 is what an overloaded provider answers
		return local.Transient, "overloaded"
	case http.StatusUnauthorized:
		return local.Permanent, "unauthorized"
	case http.StatusForbidden:
		return local.Permanent, "forbidden"
	case http.StatusNotFound:
		return local.Permanent, "model_not_found"
	case http.StatusRequestEntityTooLarge:
		return local.Permanent, "request_too_large"
	}
	if status >= http.StatusInternalServerError {
		return local.Transient, "model_unavailable"
	}
	return local.Permanent, "invalid_request"
}
