package journal

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// WarningCleanupOpen is the code of the warning that precedes the terminal event of an execution whose clean-up ran out
// of time.
const WarningCleanupOpen = "cleanup_open"

// TaskQueue is the queue of a row's task. base is the row's queue; steps that ran out twice are suspect, and executions
// that never started go behind those that did.
func TaskQueue(base string, started, suspect bool) string {
	switch {
	case suspect:
		return execution.SuspectQueue
	case !started:
		return base + execution.NewSuffix
	default:
		return base
	}
}

// Suspect reports whether the row's step goes to the suspect queue: it was reclaimed twice, or once and its claim ran
// out again.
func (e *Execution) Suspect(nowMs int64) bool {
	ranOut := e.Claim != nil && e.Claim.ExpiresAtMs <= nowMs
	return e.Reclaims >= 2 || e.Reclaims >= 1 && ranOut
}

// BaseQueue is the queue a new execution's row keeps.
func (n NewExecution) BaseQueue() string {
	if n.Queue != "" {
		return n.Queue
	}
	return n.Request.Priority.Queue()
}

// CleanupOpen reports whether something outside is to be undone: a delegation that is not yet revoked, or what Cleanup tells
// of.
func (e *Execution) CleanupOpen() bool {
	return e.Delegation != nil && !e.Delegation.CleanupComplete || len(e.Cleanup) > 0
}

// EndingPayload is the terminal event that belongs to an ending. The ending must have passed CheckEnding.
func EndingPayload(end Ending) execution.Payload {
	switch end.State {
	case execution.Completed:
		completed := execution.ExecutionCompleted{Answer: execution.ClipEventText(end.Outcome.Answer)}
		if n := len(end.Outcome.Answer); n > execution.MaxEventText {
			completed.AnswerBytes = n
		}
		return completed
	case execution.Failed:
		return execution.ExecutionFailed{Code: end.Failure.Code, Message: execution.ClipEventText(end.Failure.Message)}
	default:
		return execution.ExecutionCanceled{}
	}
}

// EndingOf is the ending that a commit with ThenEnd asks for.
func EndingOf(then Then) Ending {
	if then.Failure != nil {
		return Ending{State: execution.Failed, Failure: then.Failure}
	}
	return Ending{State: execution.Completed, Outcome: then.Outcome}
}

// InteractionEvent is the event that opens an interaction.
func InteractionEvent(i execution.Interaction) execution.Payload {
	return execution.InteractionRequired{RequestID: i.RequestID, Kind: i.Kind, Prompt: execution.ClipEventText(i.Prompt)}
}

// InteractionWait is what the view shows while an interaction is open.
func InteractionWait(i execution.Interaction) execution.Wait {
	kind := execution.WaitInput
	if i.Kind == execution.Authentication {
		kind = execution.WaitAuth
	}
	return execution.Wait{Kind: kind, UntilMs: i.ExpiresAtMs}
}

// SuspendedEvent is the event of a suspension.
func SuspendedEvent(s execution.Suspension) execution.Payload {
	return execution.ExecutionSuspended{Reason: s.Reason, Detail: execution.ClipEventText(s.Detail)}
}

// RetryEvent is the event of a retry, as far as the caller knows it: the store adds the attempt and the instant.
func RetryEvent(r Retry) execution.RetryScheduled {
	return execution.RetryScheduled{Node: r.Node, Code: r.Code, Message: execution.ClipRetryText(r.Message)}
}

// PausedSuspension is the suspension of a pause.
func PausedSuspension() execution.Suspension {
	return execution.Suspension{Reason: execution.ReasonPaused}
}

// InteractionExpiredSuspension is the suspension of an interaction that expired with onExpiry suspend.
func InteractionExpiredSuspension() execution.Suspension {
	return execution.Suspension{Reason: execution.ReasonPolicy, Detail: "interaction expired"}
}

// QuarantineSuspension is the suspension of a step that was reclaimed too often. workers are those whose claims ran out,
// the last one included.
func QuarantineSuspension(node string, workers []WorkerID) execution.Suspension {
	names := make([]string, len(workers))
	for i, worker := range workers {
		names[i] = string(worker)
	}
	return execution.Suspension{
		Reason: execution.ReasonQuarantined,
		Detail: "after " + node + ", claims ran out of workers " + strings.Join(names, ", "),
	}
}

// ReclaimedWarning is the event of a reclaim: of the worker whose claim ran out, and the one that goes on.
func ReclaimedWarning(from, to WorkerID) execution.Payload {
	return execution.Warning{
		Code:    execution.WarningReclaimed,
		Message: fmt.Sprintf("the claim of worker %s on this step ran out; worker %s goes on", from, to),
	}
}

// ReleasedWarning is the event of a claim that an operator took back from a worker.
func ReleasedWarning(from WorkerID) execution.Payload {
	return execution.Warning{
		Code: execution.WarningReleased, Message: fmt.Sprintf("an operator took the claim from its holder, worker %s", from),
	}
}

// CleanupWarning is the event of a clean-up that ran out of time.
func CleanupWarning() execution.Payload {
	return execution.Warning{Code: WarningCleanupOpen, Message: "the execution ended before its clean-up did"}
}

// DeadlineFailure is the failure of an execution that waited past its deadline.
func DeadlineFailure() execution.Failure {
	return execution.Failure{Code: execution.CodeDeadlineExceeded, Message: "the deadline passed while the execution waited"}
}

// DelegationFailure is the failure of an execution whose delegation did not come in time.
func DelegationFailure() execution.Failure {
	return execution.Failure{
		Code: execution.CodeDelegationLost, Message: "the delegation was not established in time: submit again",
	}
}

// SuspensionFailure is the failure of an execution that stayed suspended for longer than the retention.
func SuspensionFailure() execution.Failure {
	return execution.Failure{Code: execution.CodeSuspensionExpired, Message: "nobody resumed the execution in time"}
}

// InteractionFailure is the failure of an interaction that expired with onExpiry fail.
func InteractionFailure() execution.Failure {
	return execution.Failure{Code: execution.CodeInteractionExpired, Message: "the interaction expired unanswered"}
}

// UnfinishedFailure is the failure of a finalizing that ran out of time before anybody said how it ends.
func UnfinishedFailure() execution.Failure {
	return execution.Failure{Code: execution.CodeInternal, Message: "the clean-up ran out of time before an end was recorded"}
}

// ExpiredPayload is the inbox entry of an interaction that expired with onExpiry reject.
func ExpiredPayload(request execution.RequestID) []byte {
	quoted, err := json.Marshal(request)
	if err != nil { // a string always encodes
		quoted = []byte(`""`)
	}
	return fmt.Appendf(nil, `{"type":"expired","requestId":%s}`, quoted)
}

// EventCall is the tool call that an event speaks of; empty for an event of a whole record. A record writes the event of
// a call with the call's entry, and once.
func EventCall(payload execution.Payload) execution.CallID {
	switch event := payload.(type) {
	case execution.ToolStarted:
		return event.CallID
	case *execution.ToolStarted:
		return event.CallID
	case execution.ToolCompleted:
		return event.CallID
	case *execution.ToolCompleted:
		return event.CallID
	default:
		return ""
	}
}
