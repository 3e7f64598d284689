package link

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

const (
	theNow   int64 = 1_764_420_100_000
	theSince int64 = theNow - 60_000
	theLook  int64 = theNow + 5_000
)

// standing are the facts of a started execution, changed.
func standing(change func(*facts)) facts {
	f := facts{Inspection: journal.Inspection{
		NowMs: theNow, LookAtMs: theLook, ActiveID: "exec_active",
		Execution: journal.Execution{
			ID: "exec_active", State: execution.Running, Active: true, Node: "before_model_request", Queue: "default",
			UpdatedAtMs: theSince, CreatedAtMs: theSince - 1000, StartedAtMs: theSince - 500,
		},
	}}
	change(&f)
	return f
}

// waits parks the execution.
func waits(kind execution.WaitKind, untilMs int64) func(*facts) {
	return func(f *facts) { f.Execution.Wait = &execution.Wait{Kind: kind, UntilMs: untilMs} }
}

// asks opens a question.
func asks(kind execution.InteractionKind, wait execution.WaitKind, expires int64, on execution.OnExpiry) func(*facts) {
	return func(f *facts) {
		f.Execution.State = execution.WaitingForInput
		f.Execution.Wait = &execution.Wait{Kind: wait, UntilMs: expires}
		f.Execution.PendingInteraction = &execution.Interaction{RequestID: "req_5_0", Kind: kind, ExpiresAtMs: expires, OnExpiry: on}
	}
}

// stands has a task in a queue.
func stands(queue string, place *execution.Place) func(*facts) {
	return func(f *facts) {
		f.Task = &execution.Task{Execution: "exec_active", Step: 3, Wake: 4, Queue: queue}
		f.RunnableAtMs = theNow - 700
		f.place = place
	}
}

func holds(expires int64, change func(*journal.Execution)) func(*facts) {
	return func(f *facts) {
		f.Execution.Claim = &journal.Claim{Worker: "w1", Fence: "7-secret", ExpiresAtMs: expires}
		change(&f.Execution)
	}
}

func suspends(reason execution.SuspendReason, detail string) func(*facts) {
	return func(f *facts) {
		f.Execution.State = execution.Suspended
		f.Execution.Suspension = &execution.Suspension{Reason: reason, Detail: detail}
	}
}

func TestWhyHasASentenceForEachKindOfWait(t *testing.T) {
	t.Parallel()
	later := theNow + 30_000
	cases := map[string]struct {
		facts  facts
		want   execution.WaitingFor
		next   int64 // 0: nothing happens by itself
		detail string
	}{
		"retry":    {standing(waits(execution.WaitRetry, later)), execution.WaitsForRetry, later, "tried again"},
		"child":    {standing(waits(execution.WaitChild, 0)), execution.WaitsForChild, theLook, "Delegates are running"},
		"remote":   {standing(waits(execution.WaitRemote, later)), execution.WaitsForRemote, later, "remote agent"},
		"schedule": {standing(waits(execution.WaitSchedule, later)), execution.WaitsForSchedule, later, "start time has not come"},
		"input": {
			standing(asks(execution.Approval, execution.WaitInput, 0, "")), execution.WaitsForInput, 0, "req_5_0",
		},
		"input that expires": {
			standing(asks(execution.ClientToolResult, execution.WaitInput, later, execution.ExpireSuspend)),
			execution.WaitsForInput, later, "results of tool calls",
		},
		"auth": {standing(asks(execution.Authentication, execution.WaitAuth, 0, "")), execution.WaitsForAuth, 0, "authorize"},
	}
	for name, c := range cases {
		why := c.facts.explain()
		require.Equal(t, c.want, why.WaitingFor, name)
		require.Contains(t, why.Detail, c.detail, name)
		require.Equal(t, theSince, why.SinceAtMs, name)
		if c.next == 0 {
			require.Nil(t, why.Next, name)
			continue
		}
		require.Equal(t, c.next, why.Next.AtMs, name)
		require.NotEmpty(t, why.Next.What, name)
	}
}

func TestWhySaysOfEachSuspensionWhatToDo(t *testing.T) {
	t.Parallel()
	for reason, want := range map[execution.SuspendReason]string{
		execution.ReasonPaused: "A resume", execution.ReasonLimit: "higher limits", execution.ReasonRetriesExhausted: "When the cause is gone",
		execution.ReasonQuarantined: "logs of these workers", execution.ReasonPolicy: "A policy",
		execution.ReasonUnknownDefinition: "Give the workers a release", "other": "reason other",
	} {
		f := standing(suspends(reason, "the detail."))
		why := f.explain()
		require.Equal(t, execution.WaitsForResume, why.WaitingFor, reason)
		require.Contains(t, why.Detail, want, reason)
		require.Contains(t, why.Detail, "(the detail). ", reason)
		require.Equal(t, theLook, why.Next.AtMs, reason)
		require.Contains(t, why.Next.What, execution.CodeSuspensionExpired, reason)
	}
	f := standing(suspends(execution.ReasonPaused, ""))
	f.Execution.PendingInteraction = &execution.Interaction{}
	require.Contains(t, f.explain().Detail, "question is open again")
	f.Execution.DeadlineAtMs = theLook
	require.Contains(t, f.explain().Next.What, execution.CodeDeadlineExceeded)
}

func TestCaseK4_WhyNamesTheDefinitionThatNoWorkerCanRun(t *testing.T) {
	t.Parallel()
	f := standing(suspends(execution.ReasonUnknownDefinition, "definition abc: unknown tool type soap"))
	why := f.explain()
	require.Contains(t, why.Detail, "definition abc: unknown tool type soap")
	require.Contains(t, why.Detail, "Give the workers a release")
}

func TestWhyKnowsTheHolderOfANode(t *testing.T) {
	t.Parallel()
	expires := theNow + 9_000
	f := standing(holds(expires, func(*journal.Execution) {}))
	why := f.explain()
	require.Equal(t, execution.WaitsForNode, why.WaitingFor)
	require.Equal(t, &execution.WhyHolder{WorkerID: "w1", Node: "before_model_request", ClaimExpiresAtMs: expires}, why.Holder)
	require.Equal(t, expires, why.Next.AtMs)

	f = standing(holds(expires, func(row *journal.Execution) { row.Reclaims = 2 }))
	require.Contains(t, f.explain().Detail, "reclaimed 2 times before")
	f = standing(holds(expires, func(row *journal.Execution) { row.CancelRequested, row.PauseRequested = true, true }))
	require.Contains(t, f.explain().Detail, "A cancel is requested")
	require.NotContains(t, f.explain().Detail, "pause", "a cancel wins")
	f = standing(holds(expires, func(row *journal.Execution) { row.PauseRequested = true }))
	require.Contains(t, f.explain().Detail, "A pause is requested")
}

func TestWhySaysThatAClaimRanOut(t *testing.T) {
	t.Parallel()
	f := standing(holds(theNow, func(*journal.Execution) {}))
	f.LookAtMs = theNow
	why := f.explain()
	require.Equal(t, execution.WaitsForReclaim, why.WaitingFor)
	require.Equal(t, theNow, why.SinceAtMs)
	require.Equal(t, theNow, why.Next.AtMs)
	require.NotContains(t, why.Detail, "overdue")
	f.NowMs = theNow + patience.Milliseconds() + 1
	require.Contains(t, f.explain().Detail, "look whether a reaper is running")
}

func TestWhySaysWhoComesBeforeInTheConversation(t *testing.T) {
	t.Parallel()
	f := standing(func(f *facts) {
		f.Execution.ID, f.Execution.Active, f.Execution.State, f.Ahead = "exec_other", false, execution.Queued, 1
		f.Execution.Wait = &execution.Wait{Kind: execution.WaitSchedule}
	})
	why := f.explain()
	require.Equal(t, execution.WaitsForTurn, why.WaitingFor)
	require.Equal(t, "It waits for its conversation's turn: the execution exec_active is active. 1 other comes before it.", why.Detail)
	require.Nil(t, why.Next)
}

func TestWhySaysWhereATaskStands(t *testing.T) {
	t.Parallel()
	const served = 2
	for want, place := range map[string]execution.Place{
		"Its task is the next one in the queue gpu.":                            {State: execution.TaskPending, Workers: served},
		"Its task waits in the queue gpu; 1 other comes before it.":             {State: execution.TaskPending, Position: 1, Workers: served},
		"Its task waits in the queue gpu; 41 others come before it.":            {State: execution.TaskPending, Position: 41, Workers: served},
		"Its task waits far behind in the queue gpu.":                           {State: execution.TaskPending, Position: -1, Workers: served},
		"A worker has taken its task from the queue gpu and is about to begin.": {State: execution.TaskActive, Position: -1, Workers: served},
		"Its task was handed back to the queue gpu for a moment.":               {State: execution.TaskRetry, Position: -1, Workers: served},
		"Its task does not stand in the queue gpu: the reaper places it again.": {Position: -1, Workers: served},
	} {
		f := standing(stands("gpu", &place))
		why := f.explain()
		require.Equal(t, execution.WaitsForWorker, why.WaitingFor)
		require.Equal(t, want, why.Detail)
		require.Equal(t, &execution.WhyQueue{Name: "gpu", Position: place.Position, Workers: served}, why.Queue)
		require.Equal(t, theNow-700, why.SinceAtMs)
		require.Equal(t, theLook, why.Next.AtMs)
	}
	f := standing(stands("gpu", nil))
	require.Nil(t, f.explain().Queue, "nothing is known")
	f = standing(stands("gpu", &execution.Place{State: execution.TaskPending, Paused: true}))
	require.Contains(t, f.explain().Detail, "An operator has paused this queue")
	require.True(t, f.explain().Queue.Paused)
	f = standing(stands("suspect", &execution.Place{State: execution.TaskPending, Workers: 1}))
	require.Contains(t, f.explain().Detail, "reclaimed before")
	f = standing(func(*facts) {})
	require.Contains(t, f.explain().Detail, "the reaper sees to it", "no task, no wait, no claim")
}

func TestWhySaysThatNoLiveWorkerServesAQueue(t *testing.T) {
	t.Parallel()
	for queue, advice := range map[string]string{
		"default":  "start a worker without PAWL_WORKER_QUEUES, or with default in it.",
		"high-new": "start a worker without PAWL_WORKER_QUEUES, or with high in it.",
		"suspect":  "start a worker without PAWL_WORKER_QUEUES, or with suspect in it.",
		"gpu-new":  "start a worker with gpu in PAWL_WORKER_QUEUES.",
	} {
		f := standing(stands(queue, &execution.Place{State: execution.TaskPending, Position: 3}))
		why := f.explain()
		require.Contains(t, why.Detail, "No live worker serves this queue: "+advice)
		require.Zero(t, why.Queue.Workers)
	}
}

func TestWhySaysHowItEnds(t *testing.T) {
	t.Parallel()
	end := func(state execution.State, failure *execution.Failure) execution.Why {
		f := standing(func(f *facts) {
			f.Execution.State, f.Execution.Failure, f.Execution.EndedAtMs = state, failure, theNow-5
			f.Execution.DeadlineAtMs = theNow - 100_000
		})
		return f.explain()
	}
	for _, state := range []execution.State{execution.Completed, execution.Canceled} {
		why := end(state, nil)
		require.Equal(t, execution.WaitsForNothing, why.WaitingFor)
		require.Contains(t, why.Detail, string(state))
		require.Equal(t, theNow-5, why.SinceAtMs)
		require.Nil(t, why.Next)
		require.Nil(t, why.LastError)
	}
	why := end(execution.Failed, &execution.Failure{Code: "model_error", Message: "it refused"})
	require.Equal(t, "It has ended: it failed with model_error: it refused.", why.Detail)
	require.Equal(t, &execution.WhyFailure{Code: "model_error", Message: "it refused", Attempt: 1, AtMs: theNow - 5}, why.LastError)

	f := standing(func(f *facts) { f.Execution.State, f.Execution.DeadlineAtMs = execution.Finalizing, theNow })
	why = f.explain()
	require.Equal(t, execution.WaitsForCleanup, why.WaitingFor)
	require.Equal(t, theLook, why.Next.AtMs, "the deadline does not count any more")
}

func TestWhyKnowsTheLastFailedAttempt(t *testing.T) {
	t.Parallel()
	retried := &execution.Event{OccurredAtMs: theSince, Payload: &execution.RetryScheduled{
		Node: "before_model_request", Attempt: 3, AtMs: theNow, Code: "rate_limited",
	}}
	f := standing(waits(execution.WaitRetry, theNow))
	f.retried = retried
	require.Equal(t, &execution.WhyFailure{Code: "rate_limited", Attempt: 3, AtMs: theSince}, f.explain().LastError)
	require.Contains(t, f.explain().Detail, "Attempt 3 at the node failed with rate_limited")

	f = standing(suspends(execution.ReasonRetriesExhausted, "before_model_request: server_error: 503: try later"))
	f.retried, f.Execution.Attempts = retried, 4
	require.Equal(t, &execution.WhyFailure{
		Code: "server_error", Message: "503: try later", Attempt: 5, AtMs: theSince,
	}, f.explain().LastError)
	f.Execution.Suspension.Detail = "something else"
	require.Equal(t, "rate_limited", f.explain().LastError.Code)
	require.Equal(t, "something else", f.explain().LastError.Message)
	f.retried = nil
	require.Equal(t, execution.CodeInternal, f.explain().LastError.Code)
}

func TestWhyNeverShowsAFence(t *testing.T) {
	t.Parallel()
	f := standing(holds(theNow+time.Second.Milliseconds(), func(row *journal.Execution) {
		row.Delegation = &journal.Delegation{LeaseRef: "lease-secret"}
	}))
	shown, err := json.Marshal(f.explain())
	require.NoError(t, err)
	require.NotContains(t, string(shown), "secret")
}

func TestWhyNamesTheChildrenAndWhatTheFirstWaitsFor(t *testing.T) {
	t.Parallel()
	first := standing(asks(execution.Approval, execution.WaitInput, 0, ""))
	open := make([]execution.Child, 7)
	for i := range open {
		open[i] = execution.Child{ID: "exec_child", Agent: "researcher", State: execution.Running}
	}
	f := standing(waits(execution.WaitChild, 0))
	f.family = &family{all: 9, open: open, first: &first}
	why := f.explain()
	require.Equal(t, open, why.Children)
	require.Contains(t, why.Detail, "7 of its 9 children have not ended")
	require.Contains(t, why.Detail, "exec_child (researcher), and 2 more.")
	require.Contains(t, why.Detail, "Of the first: It waits for a decision about tool calls: input to the request req_5_0 lets it go on.")
	f.family = &family{all: 9}
	require.Contains(t, f.explain().Detail, "about to go on")
	f.family = &family{all: 2, open: open[:1]}
	require.NotContains(t, f.explain().Detail, "Of the first")
	f.family = &family{all: 2, open: open[:1], first: &first, needs: []execution.WhyNeed{
		{Execution: "exec_child", Agent: "researcher", Interaction: &execution.Interaction{Prompt: strings.Repeat("é", 201)}},
	}}
	require.NotContains(t, f.explain().Detail, "Of the first")
	require.Contains(t, f.explain().Detail, `A person is needed: exec_child (researcher) asks "`+strings.Repeat("é", 200)+`…".`)
	require.Equal(t, f.family.needs, f.explain().Needs)
}

func TestWhySaysThatAParentHasEnded(t *testing.T) {
	t.Parallel()
	for _, state := range []execution.State{execution.Queued, execution.Running, execution.WaitingForInput, execution.Suspended} {
		f := standing(func(f *facts) { f.Execution.State, f.Execution.CancelRequested = state, true })
		why := f.explain()
		require.Equal(t, execution.WaitsForCancel, why.WaitingFor, state)
		require.Contains(t, why.Detail, "Its parent has ended", state)
		require.Equal(t, theLook, why.Next.AtMs)
	}
}

func TestWhySaysWhatIsStillToBeUndone(t *testing.T) {
	t.Parallel()
	f := standing(func(f *facts) {
		f.Execution.State, f.CleanupAtMs, f.Execution.Cleanup = execution.Completed, theLook, []byte("a secret handle")
		f.Execution.Delegation = &journal.Delegation{LeaseRef: "lease"}
	})
	why := f.explain()
	require.Equal(t, execution.WaitsForCleanup, why.WaitingFor)
	require.Equal(t, "It has ended: it is completed. Its clean-up is open: its delegation is to be revoked, and what it began outside, "+
		"such as the task of a remote agent, is to be undone.", why.Detail)
	require.Equal(t, theLook, why.Next.AtMs)
	f.Execution.State = execution.Finalizing
	why = f.explain()
	require.Equal(t, execution.WaitsForCleanup, why.WaitingFor)
	require.Contains(t, why.Detail, "Its clean-up is open")
	require.Contains(t, why.Next.What, "it ends")
	f.Execution.Cleanup, f.Execution.Delegation = nil, nil
	require.NotContains(t, f.explain().Detail, "is open")
}
