package httptool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// maxDeferral bounds how long a server may let a call wait: a year.
const maxDeferral = 365 * 24 * time.Hour

// deferred is the question for a result that comes later, nil when the reply is one: 202 with {"deferred": true}. The
// server may say how long it will take at most; the agent's own bound holds as well.
func (t *Tool) deferred(call execution.ToolCall, r *reply) *local.Question {
	var body struct {
		Deferred       bool            `json:"deferred"`
		ExpiresAfterMs json.RawMessage `json:"expiresAfterMs"`
	}
	if r.status != http.StatusAccepted || json.Unmarshal(r.body, &body) != nil || !body.Deferred {
		return nil
	}
	question := &local.Question{
		Kind:         execution.ClientToolResult,
		Prompt:       fmt.Sprintf("The result of %s (%s) comes later.", call.Name, call.CallID),
		ExpiresAfter: t.declared.ExpiresAfter, OnExpiry: t.declared.OnExpiry,
	}
	var ms int64
	if json.Unmarshal(body.ExpiresAfterMs, &ms) == nil && ms > 0 {
		wish := time.Duration(min(ms, maxDeferral.Milliseconds())) * time.Millisecond
		if question.ExpiresAfter == 0 || wish < question.ExpiresAfter {
			question.ExpiresAfter = wish
		}
	}
	if question.ExpiresAfter > 0 && question.OnExpiry == "" {
		question.OnExpiry = execution.ExpireReject
	}
	return question
}
