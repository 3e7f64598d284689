package executor

import (
	"encoding/json"

	"github.com/pawl-run/pawl/execution"
)

// resolution is what a reply means for one call. The zero value: nothing, the call is asked about again.
type resolution struct {
	result    *execution.ToolResult // the call's receipt
	run       bool                  // the call is to be run (again)
	reply     *Reply                // and this goes with it
	arguments json.RawMessage       // the call is to be run with these
}

// said is a question about a call and what was said to it.
type said struct {
	question *Question
	input    execution.Input
	expired  bool // when the input is that of an expiry: the call's own time is up
}

// about is what it means for the call.
func (s said) about(call execution.ToolCall) resolution {
	switch s.input.Type {
	case inputExpired:
		if !s.expired {
			return resolution{}
		}
		return resolution{result: s.refusal(call, "nobody answered in time")}
	case execution.ToolResultInput:
		if s.input.CallID != call.CallID {
			return resolution{}
		}
		return resolution{result: s.clientResult(call)}
	case execution.ElicitationResponse:
		if s.question.Kind == execution.Approval || s.question.Kind == execution.ClientToolResult {
			return resolution{}
		}
		return s.elicited(call)
	case execution.ToolApproval, execution.UserMessage:
	}
	for _, decision := range s.input.Decisions {
		if decision.CallID == call.CallID {
			return s.decided(call, decision)
		}
	}
	return resolution{}
}

// clientResult is the result of a call that somebody else carried out.
func (s said) clientResult(call execution.ToolCall) *execution.ToolResult {
	result := normalize(call, execution.ToolResult{Content: s.input.Result, IsError: s.input.IsError})
	return &result
}

// elicited is an answer in words or by a form.
func (s said) elicited(call execution.ToolCall) resolution {
	if s.question.Resume {
		return resolution{run: true, reply: &Reply{
			State: s.question.State, Text: s.input.Text, Content: s.input.Content, Declined: s.input.Declined,
		}}
	}
	switch {
	case s.input.Declined:
		return resolution{result: s.refusal(call, "the person declined to answer")}
	case s.input.Content != nil:
		result := normalize(call, execution.ToolResult{Content: s.input.Content})
		return resolution{result: &result}
	default:
		text := execution.TextResult(call, s.input.Text)
		return resolution{result: &text}
	}
}

// decided is a decision about the call.
func (s said) decided(call execution.ToolCall, decision execution.Decision) resolution {
	switch decision.Decision {
	case execution.Approve:
		if s.question.Gate || s.question.Reason == execution.OutcomeUnknown {
			return resolution{run: true}
		}
		if s.question.Resume {
			return resolution{run: true, reply: &Reply{State: s.question.State}}
		}
		approved := normalize(call, execution.ToolResult{Content: json.RawMessage(`{"approved":true}`)})
		return resolution{result: &approved}
	case execution.Edit:
		if !s.question.Gate || decision.Arguments == nil {
			return resolution{}
		}
		return resolution{arguments: decision.Arguments}
	case execution.Answer:
		answer := normalize(call, execution.ToolResult{Content: decision.Answer})
		return resolution{result: &answer}
	case execution.Reject:
		if s.question.Resume {
			return resolution{run: true, reply: &Reply{State: s.question.State, Text: decision.Reason, Declined: true}}
		}
		reason := decision.Reason
		if reason == "" {
			reason = "a person rejected this call"
		}
		return resolution{result: s.refusal(call, reason)}
	default:
		return resolution{}
	}
}

// refusal is the result of a call that was not carried out, or of which nobody said what became of it.
func (s said) refusal(call execution.ToolCall, reason string) *execution.ToolResult {
	kind := execution.ToolRejected
	switch {
	case s.question.Reason == execution.OutcomeUnknown:
		kind, reason = execution.ToolOutcomeUnknown, "the outcome of this call is unknown; treat it as failed: "+reason
	case s.question.Kind == execution.ClientToolResult:
		kind, reason = execution.ToolExecution, "no result arrived in time; it is unknown what became of this call"
	}
	result := execution.ErrorResult(call, kind, reason)
	return &result
}
