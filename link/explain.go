package link

import (
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// facts are what is known of an execution that stands somewhere.
type facts struct {
	journal.Inspection
	retried *execution.Event // the last failed attempt at the step; nil: none, or not known
	place   *execution.Place // of the task; nil: not known, or there is no task
	family  *family          // nil: it waits for no child
	// task is that of the remote agent, and taskSinceMs since when it has the work; empty and 0: not known.
	task        string
	taskSinceMs int64
	newer       bool // its newest checkpoint is of a later release than this one
}

// explain says what the execution waits for. It is a function of the facts and nothing else.
func (f *facts) explain() execution.Why {
	row := &f.Execution
	why := execution.Why{State: row.State, SinceAtMs: row.UpdatedAtMs, LastError: f.lastError()}
	switch {
	case row.State.Terminal():
		f.ended(&why)
		return why
	case row.State == execution.Finalizing:
		f.finalizing(&why)
	case row.CancelRequested && row.Claim == nil:
		f.left(&why)
		return why
	case row.State == execution.Suspended:
		f.suspended(&why)
	case row.Claim != nil:
		f.held(&why)
	case row.State == execution.WaitingForInput:
		f.asked(&why)
	case !row.Active:
		f.inLine(&why)
	case row.Wait != nil:
		f.waiting(&why)
	default:
		f.runnable(&why)
	}
	if need := needOf(row); need != nil {
		why.Needs = []execution.WhyNeed{*need}
	}
	f.deadline(&why)
	f.overdue(&why)
	if f.newer {
		why.Detail = sentences(why.Detail, laterRelease)
	}
	return why
}

// laterRelease is said of an execution that workers of this release give back.
const laterRelease = "A later release has been at work on it: workers of this one leave it as it is, and it goes on when one of that release is there"

func (f *facts) ended(why *execution.Why) {
	row := &f.Execution
	why.WaitingFor, why.SinceAtMs = execution.WaitsForNothing, row.EndedAtMs
	switch {
	case row.State == execution.Completed:
		why.Detail = "It has ended: it is completed."
	case row.State == execution.Canceled:
		why.Detail = "It has ended: it was canceled."
	case row.Failure != nil:
		why.Detail = sentences("It has ended: it failed with " + strings.TrimSuffix(row.Failure.Code+": "+row.Failure.Message, ": "))
	default:
		why.Detail = "It has ended: it failed."
	}
	f.unclean(why)
}

func (f *facts) finalizing(why *execution.Why) {
	why.WaitingFor = execution.WaitsForCleanup
	why.Detail = "Its work is over and its clean-up is under way. It ends when that is done."
	why.Next = &execution.WhyNext{AtMs: f.LookAtMs, What: "it ends, with its clean-up done or not"}
	f.unclean(why)
}

// held: a worker has the claim, or had it until it ran out.
func (f *facts) held(why *execution.Why) {
	row := &f.Execution
	why.Holder = &execution.WhyHolder{
		WorkerID: string(row.Claim.Worker), Node: row.Node, ClaimExpiresAtMs: row.Claim.ExpiresAtMs,
	}
	if row.Claim.ExpiresAtMs <= f.NowMs {
		why.WaitingFor, why.SinceAtMs = execution.WaitsForReclaim, row.Claim.ExpiresAtMs
		why.Detail = "The claim of its worker ran out: the worker died, froze, or cannot reach Redis. The reaper gives the step to another one."
		why.Next = &execution.WhyNext{AtMs: f.LookAtMs, What: "the reaper takes the step back"}
	} else {
		why.WaitingFor = execution.WaitsForNode
		why.Detail = "A worker is at work on it, behind the boundary " + row.Node + "."
		why.Next = &execution.WhyNext{AtMs: row.Claim.ExpiresAtMs, What: "the claim runs out, unless the worker renews it"}
	}
	if row.Reclaims > 0 {
		why.Detail = sentences(why.Detail, fmt.Sprintf("The step was reclaimed %s before", times(row.Reclaims)))
	}
	switch {
	case row.CancelRequested:
		why.Detail = sentences(why.Detail, "A cancel is requested: it ends as soon as the worker has closed what is in flight, or when the claim has run out")
	case row.PauseRequested:
		why.Detail = sentences(why.Detail, "A pause is requested: it is suspended when the node in flight has ended")
	}
}

func (f *facts) asked(why *execution.Why) {
	row := &f.Execution
	why.WaitingFor = execution.WaitsForInput
	question := row.PendingInteraction
	if row.Wait != nil && row.Wait.Kind == execution.WaitAuth || question != nil && question.Kind == execution.Authentication {
		why.WaitingFor = execution.WaitsForAuth
	}
	if question == nil {
		why.Detail = "It waits for input."
		return
	}
	what := map[execution.InteractionKind]string{
		execution.Approval:         "It waits for a decision about tool calls",
		execution.Elicitation:      "It waits for an answer",
		execution.ClientToolResult: "It waits for the results of tool calls",
		execution.Authentication:   "It waits for somebody to authorize it",
	}[question.Kind]
	if what == "" {
		what = "It waits for input of kind " + string(question.Kind)
	}
	why.Detail = fmt.Sprintf("%s: input to the request %s lets it go on.", what, question.RequestID)
	if question.ExpiresAtMs > 0 {
		why.Next = &execution.WhyNext{AtMs: question.ExpiresAtMs, What: "the question expires, and " + atExpiry(question.OnExpiry)}
	}
}

func atExpiry(on execution.OnExpiry) string {
	switch on {
	case execution.ExpireFail:
		return "it fails"
	case execution.ExpireSuspend:
		return "it is suspended"
	default:
		return "it goes on as if the answer were no"
	}
}

func (f *facts) inLine(why *execution.Why) {
	why.WaitingFor = execution.WaitsForTurn
	why.Detail = "It waits for its conversation's turn."
	if f.ActiveID != "" {
		why.Detail = fmt.Sprintf("It waits for its conversation's turn: the execution %s is active.", f.ActiveID)
	}
	if f.Ahead > 0 {
		why.Detail = sentences(why.Detail, fmt.Sprintf("%s before it", counted(int64(f.Ahead), "other comes", "others come")))
	}
}

func (f *facts) waiting(why *execution.Why) {
	row := &f.Execution
	until := row.Wait.UntilMs
	if until == 0 {
		until = f.LookAtMs
	}
	next := func(what string) { why.Next = &execution.WhyNext{AtMs: until, What: what} }
	switch row.Wait.Kind {
	case execution.WaitRetry:
		why.WaitingFor, why.Detail = execution.WaitsForRetry, "A node failed and is tried again."
		if why.LastError != nil {
			why.Detail = fmt.Sprintf("Attempt %d at the node failed with %s; it is tried again.", why.LastError.Attempt, failureText(why.LastError))
		}
		next("the node is tried again")
	case execution.WaitSchedule:
		why.WaitingFor, why.Detail = execution.WaitsForSchedule, "Its start time has not come."
		next("it becomes runnable")
	case execution.WaitChild:
		f.children(why)
		next("somebody looks whether a result has come")
	case execution.WaitRemote:
		f.remote(why)
		next("the remote agent is asked how far it is")
	case execution.WaitAuth:
		why.WaitingFor, why.Detail = execution.WaitsForAuth, "It waits for somebody to authorize it."
		if row.Delegation.Intended() {
			why.Detail = "Its delegation was not established yet: the same submission, repeated with its Idempotency-Key, goes on with that."
			next("it fails with " + execution.CodeDelegationLost)
		}
	default:
		why.WaitingFor, why.Detail = execution.WaitsForInput, "It waits for input."
	}
}

// failureText is the code, and the beginning of what is known beside it.
func failureText(failure *execution.WhyFailure) string {
	if failure.Message == "" {
		return failure.Code
	}
	return fmt.Sprintf("%s (%s)", failure.Code, shortened(failure.Message))
}

// deadline: whatever an execution waits for, it fails at its deadline.
func (f *facts) deadline(why *execution.Why) {
	row := &f.Execution
	if at := row.DeadlineAtMs; at > 0 && row.State != execution.Finalizing && (why.Next == nil || at <= why.Next.AtMs) {
		why.Next = &execution.WhyNext{AtMs: at, What: "its deadline passes and it fails with " + execution.CodeDeadlineExceeded}
	}
}

// patience is how late the reaper may be before somebody should look after it.
const patience = 10 * time.Second

func (f *facts) overdue(why *execution.Why) {
	if why.Next != nil && why.Next.AtMs+patience.Milliseconds() < f.NowMs {
		why.Detail = sentences(why.Detail, "What comes next is overdue: look whether a reaper is running")
	}
}

// sentences joins texts as sentences; empty ones are left out.
func sentences(texts ...string) string {
	var all []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if !strings.HasSuffix(text, ".") {
			text += "."
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func counted(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
