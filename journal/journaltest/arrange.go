package journaltest

import (
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

const (
	theRequest execution.RequestID = "request-1"
	theCall    execution.CallID    = "call_0_0"
	theLease   journal.LeaseRef    = "lease-1"
)

func goOn() journal.Then { return journal.Then{Kind: journal.ThenContinue} }

func ask(change ...func(*execution.Interaction)) journal.Then {
	i := question()
	for _, f := range change {
		f(&i)
	}
	return journal.Then{Kind: journal.ThenPark, Interaction: &i}
}

func awaited(requests ...execution.RequestID) []execution.RequestID { return requests }

func question() execution.Interaction {
	return execution.Interaction{RequestID: theRequest, Kind: execution.Approval, Prompt: "Book it?"}
}

func completeWith(answer string) journal.Then {
	return journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: answer}}
}

func failWith(code string) journal.Then {
	return journal.Then{Kind: journal.ThenEnd, Failure: &execution.Failure{Code: code, Message: "it broke"}}
}

func policy() execution.Suspension {
	return execution.Suspension{Reason: execution.ReasonPolicy, Detail: "test"}
}

func suspendFor(r *journal.Release) {
	suspension := policy()
	r.Suspension = &suspension
}

// planned brings an execution to a claim at a step whose batch is one planned call.
func (b *bench) planned(change ...func(*journal.NewExecution)) *actor {
	b.t.Helper()
	a := b.reserve(change...).claim()
	a.commit(goOn(), func(q *journal.Commit) {
		q.Plan = []journal.Plan{{CallID: theCall, Intent: []byte("intent")}}
		q.Batch = []execution.CallID{theCall}
	})
	return a.claim()
}

// answered brings an execution to a claim with an answered interaction that nobody used yet.
func (b *bench) answered() *actor {
	b.t.Helper()
	a := b.arrange(execution.WaitingForInput)
	a.input()
	return a.claim()
}

// input answers the open interaction.
func (a *actor) input() journal.Mutation {
	a.b.t.Helper()
	answer, err := a.b.Store.CommitInteractionInput(a.b.ctx(), a.id, theInput())
	require.NoError(a.b.t, err)
	a.tasks = answer.Tasks
	return answer
}

func theInput() journal.InteractionInput {
	return journal.InteractionInput{OperationID: "op-1", RequestID: theRequest, Response: `{"answer":"yes"}`}
}

// attach attaches a delegation.
func (a *actor) attach() *actor {
	a.b.t.Helper()
	_, err := a.b.Store.AttachDelegation(a.b.ctx(), a.next(), journal.Delegation{LeaseRef: theLease, Revision: 1})
	require.NoError(a.b.t, err)
	return a
}

// arrange brings an execution into a state. Running is between two steps, without a claim.
func (b *bench) arrange(state execution.State) *actor {
	b.t.Helper()
	return b.bring(b.reserve(), state)
}

// bring takes a queued execution to a state.
func (b *bench) bring(a *actor, state execution.State) *actor {
	b.t.Helper()
	if state == execution.Queued {
		return a
	}
	a.claim()
	switch state {
	case execution.Running:
		a.commit(goOn())
	case execution.WaitingForInput:
		a.commit(ask())
	case execution.Suspended:
		a.release(suspendFor)
	case execution.Finalizing:
		a.attach().commit(completeWith("done"))
	case execution.Completed:
		a.commit(completeWith("done"))
	case execution.Failed:
		a.commit(failWith("model_error"))
	case execution.Canceled:
		a.cancel()
		a.release()
	case execution.Queued:
	}
	require.Equal(b.t, state, a.state())
	return a
}

// finalizing brings an execution into finalizing with its holder still there.
func (b *bench) finalizing() *actor {
	b.t.Helper()
	a := b.reserve().claim()
	_, err := b.Store.Transition(b.ctx(), a.next(), []execution.State{execution.Running}, execution.Finalizing)
	require.NoError(b.t, err)
	return a
}

func (a *actor) cancel() journal.Change {
	a.b.t.Helper()
	change, err := a.b.Store.Cancel(a.b.ctx(), a.id)
	require.NoError(a.b.t, err)
	a.tasks = change.Tasks
	return change
}

func (a *actor) pause() journal.Change {
	a.b.t.Helper()
	change, err := a.b.Store.Pause(a.b.ctx(), a.id)
	require.NoError(a.b.t, err)
	return change
}

func (a *actor) resume() journal.Change {
	a.b.t.Helper()
	change, err := a.b.Store.Resume(a.b.ctx(), a.id, journal.Resumption{})
	require.NoError(a.b.t, err)
	a.tasks = change.Tasks
	return change
}

// runOut lets the claim run out.
func (a *actor) runOut() *actor {
	a.b.clock.Advance(ttl)
	return a
}
