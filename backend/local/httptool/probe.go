package httptool

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// probeBody is what a status probe reads.
type probeBody struct {
	ExecutionID execution.ID     `json:"executionId"`
	CallID      execution.CallID `json:"callId"`
	EffectID    string           `json:"effectId"`
}

// Probe asks the status probe for the outcome of the call with this effect id: 200 with {"state": "done", "result": …},
// {"state": "absent"} or {"state": "pending"}, or 404 for absent. The request carries the tool's headers and no
// Idempotency-Key: a server that keeps answers by that key must not answer the probe with the call's. A probe has no
// effect, so what fails on the way is transient; an answer that cannot be understood is permanent.
func (p probing) Probe(ctx context.Context, call local.Invocation) (local.ProbeResult, error) {
	body, err := json.Marshal(probeBody{call.Execution, call.Call.CallID, call.EffectID})
	if err != nil {
		return local.ProbeResult{}, p.unreadable("the request cannot be made")
	}
	r, failed, err := p.sendAs(ctx, request{url: p.probeURL, body: body, bearer: call.Credential}, call.Bearer)
	if err != nil {
		return local.ProbeResult{}, fmt.Errorf("status probe of the tool %s: %w", p.declared.Name, err)
	}
	if failed != nil {
		classified := p.failure(failed)
		classified.Kind = local.Transient
		classified.Message = "status probe of " + classified.Message
		return local.ProbeResult{}, classified
	}
	if r.refused != nil {
		return local.ProbeResult{}, p.unreadable(r.refused.Error())
	}
	if r.status == http.StatusNotFound {
		return local.ProbeResult{State: local.ProbeAbsent}, nil
	}
	if err := p.statusError(r, local.Transient); err != nil {
		return local.ProbeResult{}, fmt.Errorf("status probe: %w", err)
	}
	if r.status != http.StatusOK || r.tooLong {
		return local.ProbeResult{}, p.unreadable("it answered " + statusText(r.status))
	}
	return p.outcome(call.Call, r.body)
}

func (p probing) outcome(call execution.ToolCall, body []byte) (local.ProbeResult, error) {
	var answer struct {
		State  local.ProbeState `json:"state"`
		Result json.RawMessage  `json:"result"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return local.ProbeResult{}, p.unreadable("its answer is not the JSON expected")
	}
	switch answer.State {
	case local.ProbeAbsent, local.ProbePending:
		return local.ProbeResult{State: answer.State}, nil
	case local.ProbeDone:
		if len(answer.Result) == 0 {
			answer.Result = json.RawMessage("null")
		}
		result := &execution.ToolResult{CallID: call.CallID, Name: call.Name, Content: content(answer.Result)}
		return local.ProbeResult{State: local.ProbeDone, Result: result}, nil
	default:
		return local.ProbeResult{}, p.unreadable("its answer has no state done, absent or pending")
	}
}

func (p probing) unreadable(why string) *local.Error {
	return &local.Error{
		Kind:    local.Permanent,
		Code:    "probe_failed",
		Message: fmt.Sprintf("status probe of the tool %s: %s", p.declared.Name, why),
	}
}
