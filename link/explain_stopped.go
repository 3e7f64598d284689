package link

import (
	"cmp"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// suspended: nothing happens until somebody resumes it.
func (f *facts) suspended(why *execution.Why) {
	row := &f.Execution
	why.WaitingFor = execution.WaitsForResume
	reason, detail := execution.SuspendReason(""), ""
	if row.Suspension != nil {
		reason, detail = row.Suspension.Reason, row.Suspension.Detail
	}
	happened, advice := whySuspended(reason)
	if detail != "" {
		happened += " (" + strings.TrimSuffix(detail, ".") + ")"
	}
	why.Detail = happened + ". " + advice
	if row.PendingInteraction != nil {
		why.Detail += " Its question is open again then."
	}
	if !row.Active {
		why.Detail += " Its conversation's turn may not have come by then."
	}
	why.Next = &execution.WhyNext{AtMs: f.LookAtMs, What: "it fails with " + execution.CodeSuspensionExpired}
}

// whySuspended says what has happened, and what there is to do about it.
func whySuspended(reason execution.SuspendReason) (happened, advice string) {
	switch reason {
	case execution.ReasonPaused:
		return "It was paused", "A resume takes it back to where it was."
	case execution.ReasonLimit:
		return "It has reached one of its limits", "A resume with higher limits lets it go on."
	case execution.ReasonRetriesExhausted:
		return "All attempts at its step have failed", "When the cause is gone, a resume tries the step again."
	case execution.ReasonQuarantined:
		return "Its step was reclaimed too often, as a step is that kills its worker",
			"Look into the logs of these workers; a resume tries the step again, a cancel ends it."
	case execution.ReasonPolicy:
		return "A policy has stopped it", "A resume lets it go on."
	case execution.ReasonUnknownDefinition:
		return "The worker that had its step cannot run its agent's definition",
			"Give the workers a release, and the environment, that can; a resume tries the step again."
	default:
		return "It is suspended for the reason " + string(reason), "A resume takes it back to where it was."
	}
}

// lastError is how the last attempt at the step failed, nil when none has.
func (f *facts) lastError() *execution.WhyFailure {
	row := &f.Execution
	if row.State == execution.Failed && row.Failure != nil {
		return &execution.WhyFailure{
			Code: row.Failure.Code, Message: row.Failure.Message, Attempt: row.Attempts + 1, AtMs: row.EndedAtMs,
		}
	}
	if row.State.Terminal() {
		return nil
	}
	failure := f.retry()
	if row.State != execution.Suspended || row.Suspension == nil || row.Suspension.Reason != execution.ReasonRetriesExhausted {
		return failure
	}
	// The last attempt left no retry behind: the suspension says in its detail how it failed.
	code, message := failedWith(row.Node, row.Suspension.Detail)
	if code == "" && failure != nil {
		code = failure.Code
	}
	return &execution.WhyFailure{
		Code: cmp.Or(code, execution.CodeInternal), Message: message, Attempt: row.Attempts + 1, AtMs: row.UpdatedAtMs,
	}
}

func (f *facts) retry() *execution.WhyFailure {
	if f.retried == nil {
		return nil
	}
	var retry execution.RetryScheduled
	switch payload := f.retried.Payload.(type) {
	case *execution.RetryScheduled:
		retry = *payload
	case execution.RetryScheduled:
		retry = payload
	default:
		return nil
	}
	return &execution.WhyFailure{Code: retry.Code, Message: retry.Message, Attempt: retry.Attempt, AtMs: f.retried.OccurredAtMs}
}

// failedWith reads "<node>: <code>: <message>". Any other detail is a message.
func failedWith(node, detail string) (code, message string) {
	rest, ours := strings.CutPrefix(detail, node+": ")
	code, message, both := strings.Cut(rest, ": ")
	if !ours || !both {
		return "", detail
	}
	return code, message
}
