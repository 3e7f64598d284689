package link

import (
	"fmt"
	"strings"

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
	in := input.Input
	switch in.Type {
	case execution.ElicitationResponse:
		if in.Decisions != nil {
			return invalid("input.decisions", "does not belong to an %s", in.Type)
		}
		if err := validateText(in.Text); err != nil {
			return err
		}
	case execution.ToolApproval:
		if in.Text != "" {
			return invalid("input.text", "does not belong to a %s", in.Type)
		}
		if err := validateDecisions(in.Decisions); err != nil {
			return err
		}
	case "":
		return required("input.type")
	default:
		return invalid("input.type", "want %q or %q", execution.ElicitationResponse, execution.ToolApproval)
	}
	if in.RequestID == "" {
		return required("input.requestId")
	}
	if len(in.RequestID) > maxRequestID {
		return invalid("input.requestId", "want at most %d characters", maxRequestID)
	}
	return nil
}

func validateDecisions(decisions []execution.Decision) error {
	if len(decisions) == 0 {
		return required("input.decisions")
	}
	seen := map[execution.CallID]bool{}
	for i, d := range decisions {
		switch {
		case d.CallID == "":
			return required(decisionField(i, "callId"))
		case seen[d.CallID]:
			return invalid(decisionField(i, "callId"), "the call is decided twice")
		case d.Decision == "":
			return required(decisionField(i, "decision"))
		case d.Decision == "edit":
			return invalid(decisionField(i, "decision"), "%q is not supported by this version", d.Decision)
		case d.Decision != execution.Approve && d.Decision != execution.Reject && d.Decision != execution.Answer:
			return invalid(decisionField(i, "decision"), "want %q, %q or %q",
				execution.Approve, execution.Reject, execution.Answer)
		case d.Decision == execution.Answer && d.Answer == nil:
			return required(decisionField(i, "answer"))
		case d.Decision != execution.Answer && d.Answer != nil:
			return invalid(decisionField(i, "answer"), "does not belong to %q", d.Decision)
		}
		seen[d.CallID] = true
	}
	return nil
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
	switch {
	case open.Kind == execution.Elicitation && input.Type == execution.ElicitationResponse:
		return nil
	case open.Kind == execution.Approval && input.Type == execution.ToolApproval:
		return decides(open, input.Decisions)
	default:
		return invalid("input.type", "%q does not answer an interaction of kind %q", input.Type, open.Kind)
	}
}

// decides checks that the decisions are about the calls of the interaction, each of them.
func decides(open *execution.Interaction, decisions []execution.Decision) error {
	undecided := map[execution.CallID]bool{}
	for _, call := range open.Calls {
		undecided[call.CallID] = true
	}
	for i, d := range decisions {
		if !undecided[d.CallID] {
			return invalid(decisionField(i, "callId"), "is not a call of the interaction")
		}
		if d.Decision == execution.Answer && open.Reason != execution.OutcomeUnknown {
			return invalid(decisionField(i, "decision"),
				"%q is for calls whose outcome is unknown", execution.Answer)
		}
		delete(undecided, d.CallID)
	}
	if len(undecided) == 0 {
		return nil
	}
	missing := make([]string, 0, len(undecided))
	for _, call := range open.Calls {
		if undecided[call.CallID] {
			missing = append(missing, string(call.CallID))
		}
	}
	return invalid("input.decisions", "want a decision for each call; missing: %s", strings.Join(missing, ", "))
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
