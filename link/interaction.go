package link

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// maxRequestID bounds the name of an interaction, which Pawl minted.
const maxRequestID = 128

// validateInput checks what can be checked without the execution.
func validateInput(input execution.SubmitInput) error {
	if input.OperationID == "" {
		return required("operationId")
	}
	if _, err := execution.ParseOperationID(string(input.OperationID)); err != nil {
		return invalid("operationId", "%v", err).Because(err)
	}
	if err := validateKind(input.Input); err != nil {
		return err
	}
	request := input.Input.RequestID
	if request == "" && input.Input.Type != execution.ToolResultInput {
		return required("input.requestId")
	}
	if len(request) > maxRequestID {
		return invalid("input.requestId", "want at most %d characters", maxRequestID)
	}
	return nil
}

// validateKind checks the fields of each type of input: its own, and none of the others'.
func validateKind(in execution.Input) error {
	switch in.Type {
	case execution.ElicitationResponse:
		return validateResponse(in)
	case execution.ToolApproval:
		if err := foreign(in, "requestId", "decisions"); err != nil {
			return err
		}
		return validateDecisions(in.Decisions)
	case execution.ToolResultInput:
		return validateResult(in)
	case "":
		return required("input.type")
	default: // a user's message begins an execution and answers none
		return invalid("input.type", "want %q, %q or %q",
			execution.ElicitationResponse, execution.ToolApproval, execution.ToolResultInput)
	}
}

// foreign refuses fields that do not belong to the type of the input; own are those that do.
func foreign(in execution.Input, own ...string) error {
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"text", in.Text != ""},
		{"parts", in.Parts != nil},
		{"requestId", in.RequestID != ""},
		{"decisions", in.Decisions != nil},
		{"content", in.Content != nil},
		{"declined", in.Declined},
		{"callId", in.CallID != ""},
		{"result", in.Result != nil},
		{"isError", in.IsError},
	} {
		if field.given && !slices.Contains(own, field.name) {
			return invalid("input."+field.name, "does not belong to input of type %s", in.Type)
		}
	}
	return nil
}

// validateResponse checks an answer: exactly one of a text, content and a refusal.
func validateResponse(in execution.Input) error {
	if err := foreign(in, "requestId", "text", "content", "declined"); err != nil {
		return err
	}
	switch {
	case in.Declined && in.Text != "":
		return invalid("input.text", "does not belong to an answer that is declined")
	case in.Declined && in.Content != nil:
		return invalid("input.content", "does not belong to an answer that is declined")
	case in.Declined:
		return nil
	case in.Content != nil && in.Text != "":
		return invalid("input.text", "does not belong to an answer with content")
	case in.Content != nil:
		return nil
	default:
		return validateText(in.Text)
	}
}

// validateResult checks the result of a call that the client carried out.
func validateResult(in execution.Input) error {
	if err := foreign(in, "requestId", "callId", "result", "isError"); err != nil {
		return err
	}
	switch {
	case in.CallID == "":
		return required("input.callId")
	case len(in.CallID) > maxRequestID:
		return invalid("input.callId", "want at most %d characters", maxRequestID)
	case in.Result == nil:
		return required("input.result")
	default:
		return nil
	}
}

func validateDecisions(decisions []execution.Decision) error {
	if len(decisions) == 0 {
		return required("input.decisions")
	}
	seen := map[execution.CallID]bool{}
	for i, d := range decisions {
		if d.CallID == "" {
			return required(decisionField(i, "callId"))
		}
		if seen[d.CallID] {
			return invalid(decisionField(i, "callId"), "the call is decided twice")
		}
		seen[d.CallID] = true
		if err := validateDecision(i, d); err != nil {
			return err
		}
	}
	return nil
}

// validateDecision checks what a decision is made of.
func validateDecision(i int, d execution.Decision) error {
	switch d.Decision {
	case execution.Approve, execution.Reject, execution.Answer, execution.Edit:
	case "":
		return required(decisionField(i, "decision"))
	default:
		return invalid(decisionField(i, "decision"), "want %q, %q, %q or %q",
			execution.Approve, execution.Reject, execution.Edit, execution.Answer)
	}
	switch {
	case d.Decision == execution.Answer && d.Answer == nil:
		return required(decisionField(i, "answer"))
	case d.Decision != execution.Answer && d.Answer != nil:
		return invalid(decisionField(i, "answer"), "does not belong to %q", d.Decision)
	case d.Decision == execution.Edit && d.Arguments == nil:
		return required(decisionField(i, "arguments"))
	case d.Decision == execution.Edit && !isObject(d.Arguments):
		return invalid(decisionField(i, "arguments"), "must be a JSON object")
	case d.Decision != execution.Edit && d.Arguments != nil:
		return invalid(decisionField(i, "arguments"), "does not belong to %q", d.Decision)
	case d.Decision != execution.Reject && d.Reason != "":
		return invalid(decisionField(i, "reason"), "does not belong to %q", d.Decision)
	case d.ArgumentsHash != "" && len(d.ArgumentsHash) != sha256.Size*2:
		return invalid(decisionField(i, "argumentsHash"), "want %d hexadecimal digits", sha256.Size*2)
	default:
		return nil
	}
}

// isObject reports whether data is one JSON object.
func isObject(data json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(data, &object) == nil && object != nil
}

func decisionField(index int, name string) string {
	return fmt.Sprintf("input.decisions[%d].%s", index, name)
}

// answers checks that the input answers the open interaction of the row.
func answers(row *journal.Execution, input execution.Input) error {
	open := row.PendingInteraction
	if row.State != execution.WaitingForInput || open == nil || open.RequestID != input.RequestID {
		return closed(row, input.RequestID)
	}
	words := open.Kind == execution.Elicitation || open.Kind == execution.Authentication
	switch {
	case words && input.Type == execution.ElicitationResponse:
		return responds(open, input)
	case open.Kind == execution.Approval && input.Type == execution.ToolApproval:
		return decides(open, input.Decisions)
	default:
		return invalid("input.type", "%q does not answer an interaction of kind %q", input.Type, open.Kind)
	}
}

// responds checks an answer against the schema that the question came with. Without one, it is a text.
func responds(open *execution.Interaction, input execution.Input) error {
	switch {
	case input.Declined:
		return nil
	case open.Schema == nil && input.Content != nil:
		return invalid("input.content", "the question has no schema; answer it with text")
	case open.Schema == nil:
		return nil
	case input.Content == nil:
		if input.Content = contentOf(open.Schema, input.Text); input.Content == nil {
			return invalid("input.content", "is required: the question has a schema that says what it must hold")
		}
	}
	schema, err := agent.CompileSchema(open.Schema)
	if err != nil {
		return nil // whoever asked finds out: better than a question that nobody can answer
	}
	decoder := json.NewDecoder(bytes.NewReader(input.Content))
	decoder.UseNumber()
	var content any
	if err := decoder.Decode(&content); err != nil {
		return invalid("input.content", "must be JSON").Because(err)
	}
	if err := schema.Validate(content); err != nil {
		return invalid("input.content", "does not fit the question's schema: %s", oneLine(err))
	}
	return nil
}

// contentOf is the content that a text stands for where a schema asks for one text, or for nothing; nil elsewhere.
func contentOf(schema json.RawMessage, text string) json.RawMessage {
	var form struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &form) != nil || len(form.Properties) > 1 {
		return nil
	}
	content := map[string]string{}
	for name, property := range form.Properties {
		if property.Type != "string" {
			return nil
		}
		content[name] = text
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil
	}
	return data
}

// oneLine is what a schema finds wrong, on one line and without the address that the schema has inside.
func oneLine(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if _, after, found := strings.Cut(text, "#' - "); found {
		text = after
	}
	return strings.ReplaceAll(text, " - at '", "; at '")
}

// decides checks that the decisions are about calls of the interaction. Those that are not decided are asked about again.
func decides(open *execution.Interaction, decisions []execution.Decision) error {
	calls := map[execution.CallID]execution.InteractionCall{}
	for _, call := range open.Calls {
		calls[call.CallID] = call
	}
	for i, d := range decisions {
		call, known := calls[d.CallID]
		switch {
		case !known:
			return invalid(decisionField(i, "callId"), "is not a call of the interaction")
		case d.ArgumentsHash != "" && d.ArgumentsHash != call.ArgumentsHash:
			return execution.NewAPIError(execution.Conflict, "the decision is about other arguments than those of the call").
				In(decisionField(i, "argumentsHash"))
		case d.Decision == execution.Edit && open.Reason == execution.OutcomeUnknown:
			return invalid(decisionField(i, "decision"),
				"%q is for calls that were not sent: this one may have happened with the arguments that it has", execution.Edit)
		}
	}
	return nil
}

// closed says why the interaction cannot be answered, and by which operation it was.
func closed(row *journal.Execution, request execution.RequestID) error {
	for operation, receipt := range row.InputReceipts {
		if receipt.RequestID == request {
			return execution.NewAPIError(execution.InteractionClosed,
				"the interaction was answered by operation %s", operation).In("input.requestId")
		}
	}
	if row.State.Terminal() {
		return execution.NewAPIError(execution.ExecutionEnded, "the execution is %s", row.State).In("id")
	}
	if open := row.PendingInteraction; open != nil && open.RequestID == request {
		return execution.NewAPIError(execution.Conflict,
			"the execution is %s; resume it first", row.State).In("id")
	}
	return execution.NewAPIError(execution.InteractionClosed,
		"no interaction of that id is open; the execution is %s", row.State).In("input.requestId")
}
