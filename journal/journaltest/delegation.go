package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func delegationClauses() []clause {
	return []clause{
		{name: "nobody claims an execution before its delegation is there", run: intendedUnclaimed},
		{name: "a delegation lets the execution run, and comes with every claim", run: delegateRuns},
		{name: "a lease is attached once", run: delegateOnce},
		{name: "a delegation waits for the start time and for the turn", run: delegateWaits},
		{name: "one whose turn comes before its delegation goes on waiting", run: intendedTurn},
		{name: "one that was paused and resumed goes on waiting", run: intendedPaused},
		{name: "what is refused fails and is cleaned up after", run: delegationRefused},
		{name: "contract C, loss of credential: a delegation that does not come in time fails the execution", run: intendedExpires},
		{name: "one that is canceled before its delegation came is cleaned up after", run: intendedCanceled},
		{name: "what was reserved without a delegation gets none by a command", run: delegateUninvited},
		{name: "a renewed lease comes with the next claim", run: delegationRenewed},
	}
}

func theDelegation() journal.Delegation {
	return journal.Delegation{LeaseRef: theLease, ExpiresAtSeconds: 1 << 40, Revision: 3}
}

func theRefusal() execution.Failure {
	return execution.Failure{Code: execution.CodeDelegationRefused, Message: "not you"}
}

func delegated(n *journal.NewExecution) { n.Delegated = true }

// intended reserves an execution whose delegation is to come.
func (b *bench) intended(change ...func(*journal.NewExecution)) *actor {
	b.t.Helper()
	return b.reserve(append([]func(*journal.NewExecution){delegated}, change...)...)
}

// intend puts one that waits for its delegation in the place of the actor, in its state.
func intend(a *actor) {
	state := a.state()
	*a = *a.b.intended()
	if state == execution.Suspended {
		a.pause()
	}
	require.Equal(a.b.t, state, a.state())
}

// delegate attaches the lease, which must be accepted.
func (a *actor) delegate() journal.Change {
	a.b.t.Helper()
	change, err := a.b.Store.Delegate(a.b.ctx(), a.id, theDelegation())
	require.NoError(a.b.t, err)
	require.True(a.b.t, change.Changed)
	a.tasks = change.Tasks
	return change
}

func intendedUnclaimed(t *testing.T, b *bench) {
	a := b.intended()
	require.Empty(t, a.tasks)
	row := a.row()
	require.Equal(t, &journal.Delegation{}, row.Delegation)
	require.True(t, row.Delegation.Intended())
	require.Equal(t, &execution.Wait{Kind: execution.WaitAuth, UntilMs: row.CreatedAtMs + time.Minute.Milliseconds()}, row.Wait)
	b.unchanged(func() { require.Equal(t, journal.ClaimUndelegated, refusal(t, a.tryClaim()).Reason) })
	require.Equal(t, "due", a.entry().Index)
}

func delegateRuns(t *testing.T, b *bench) {
	a := b.intended()
	change := a.delegate()
	require.Len(t, change.Tasks, 1)
	want := theDelegation()
	require.Equal(t, &want, change.Execution.Delegation)
	require.Nil(t, change.Execution.Wait)
	a.claim()
	require.Equal(t, &want, a.claimed.Execution.Delegation)
	a.commit(goOn())
	a.claim()
	require.Equal(t, &want, a.claimed.Execution.Delegation)
	a.commit(completeWith("done"))
	require.Equal(t, execution.Finalizing, a.state())
}

func delegateOnce(t *testing.T, b *bench) {
	a := b.intended()
	first := a.delegate()
	b.unchanged(func() {
		again, err := b.Store.Delegate(b.ctx(), a.id, theDelegation())
		require.NoError(t, err)
		require.False(t, again.Changed)
		require.Equal(t, first.Tasks, again.Tasks, "the answer was lost, perhaps")
		_, err = b.Store.Delegate(b.ctx(), a.id, journal.Delegation{LeaseRef: "another", Revision: 9})
		require.ErrorIs(t, err, journal.ErrConflict)
		_, err = b.Store.Delegate(b.ctx(), a.id, journal.Delegation{Revision: 9})
		require.ErrorIs(t, err, journal.ErrConflict)
		_, err = b.Store.RefuseDelegation(b.ctx(), a.id, theRefusal())
		require.ErrorIs(t, err, journal.ErrState)
	})
}

func delegateWaits(t *testing.T, b *bench) {
	start := b.clock.Ms() + 5000
	a := b.intended(func(n *journal.NewExecution) { n.Request.StartAtMs = start })
	require.Empty(t, a.delegate().Tasks)
	require.Equal(t, &execution.Wait{Kind: execution.WaitSchedule, UntilMs: start}, a.row().Wait)
	require.Equal(t, start, a.entry().AtMs)

	first := b.reserve()
	second := b.intended(func(n *journal.NewExecution) {
		n.ConversationID, n.Request.OnBusy = first.conv, execution.BusyEnqueue
	})
	require.Empty(t, second.delegate().Tasks)
	first.claim().commit(completeWith("done"))
	require.Equal(t, "handoff", second.entry().Index, "its turn has come")
	second.claim()
}

func intendedTurn(t *testing.T, b *bench) {
	first := b.reserve()
	second := b.intended(func(n *journal.NewExecution) {
		n.ConversationID, n.Request.OnBusy = first.conv, execution.BusyEnqueue
	})
	first.claim().commit(completeWith("done"))
	require.True(t, second.row().Active)
	b.unchanged(func() { require.Equal(t, journal.ClaimUndelegated, refusal(t, second.tryClaim()).Reason) })
	require.Len(t, second.delegate().Tasks, 1)
	second.claim()
}

func intendedPaused(t *testing.T, b *bench) {
	a := b.intended()
	a.pause()
	change, err := b.Store.Resume(b.ctx(), a.id, journal.Resumption{})
	require.NoError(t, err)
	require.Empty(t, change.Tasks)
	b.unchanged(func() { require.Equal(t, journal.ClaimUndelegated, refusal(t, a.tryClaim()).Reason) })
	a.pause()
	require.Empty(t, a.delegate().Tasks, "it stays where it is")
	change, err = b.Store.Resume(b.ctx(), a.id, journal.Resumption{})
	require.NoError(t, err)
	require.Len(t, change.Tasks, 1)
}

// undone is the one that is to be cleaned up, whose delegation has that lease.
func (a *actor) undone(lease journal.LeaseRef) {
	a.b.t.Helper()
	found := a.b.cleanups()
	require.Len(a.b.t, found, 1)
	require.Equal(a.b.t, a.id, found[0].Execution.ID)
	require.Equal(a.b.t, lease, found[0].Execution.Delegation.LeaseRef)
	row, err := a.b.Store.CompleteDelegationCleanup(a.b.ctx(), a.id, lease)
	require.NoError(a.b.t, err)
	require.True(a.b.t, row.Delegation.CleanupComplete)
	require.Empty(a.b.t, a.b.cleanups())
}

func delegationRefused(t *testing.T, b *bench) {
	a := b.intended()
	change, err := b.Store.RefuseDelegation(b.ctx(), a.id, theRefusal())
	require.NoError(t, err)
	require.True(t, change.Changed)
	require.Equal(t, execution.Failed, change.Execution.State)
	want := theRefusal()
	require.Equal(t, &want, change.Execution.Failure)
	b.unchanged(func() {
		again, err := b.Store.RefuseDelegation(b.ctx(), a.id, theRefusal())
		require.NoError(t, err)
		require.False(t, again.Changed)
		_, err = b.Store.Delegate(b.ctx(), a.id, theDelegation())
		require.ErrorIs(t, err, journal.ErrState, "too late")
		require.ErrorIs(t, b.Store.Delete(b.ctx(), a.id), journal.ErrCleanupOpen)
	})
	a.undone("")
	require.NoError(t, b.Store.Delete(b.ctx(), a.id))
}

func intendedExpires(t *testing.T, b *bench) {
	a := b.intended(func(n *journal.NewExecution) { n.Request.StartAtMs = b.clock.Ms() + 1000 })
	seen := a.due()
	require.Equal(t, a.row().CreatedAtMs+time.Minute.Milliseconds(), seen.AtMs)
	require.Equal(t, journal.ActExpire, seen.Action)
	answer, err := b.Store.Expire(b.ctx(), seen)
	require.NoError(t, err)
	require.Equal(t, execution.Failed, answer.State)
	require.Equal(t, execution.CodeDelegationLost, a.row().Failure.Code)
	a.undone("")
}

func intendedCanceled(t *testing.T, b *bench) {
	a := b.intended()
	a.cancel()
	require.Equal(t, execution.Canceled, a.state())
	a.undone("")
}

func delegateUninvited(t *testing.T, b *bench) {
	a := b.reserve()
	b.unchanged(func() {
		_, err := b.Store.Delegate(b.ctx(), a.id, theDelegation())
		require.ErrorIs(t, err, journal.ErrState)
		_, err = b.Store.RefuseDelegation(b.ctx(), a.id, theRefusal())
		require.ErrorIs(t, err, journal.ErrState)
	})
	missing := execution.NewID(a.id.Partition())
	_, err := b.Store.Delegate(b.ctx(), missing, theDelegation())
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.Store.RefuseDelegation(b.ctx(), missing, theRefusal())
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func delegationRenewed(t *testing.T, b *bench) {
	a := b.intended()
	a.delegate()
	a.claim()
	renewed := theDelegation()
	renewed.Revision, renewed.ExpiresAtSeconds = 4, 1<<41
	_, err := b.Store.AttachDelegation(b.ctx(), a.next(), renewed)
	require.NoError(t, err)
	a.commit(goOn())
	a.claim()
	require.Equal(t, &renewed, a.claimed.Execution.Delegation)
}

// delegating draws what is said of a delegation that is to come.
func (d *differential) delegating(r *run) {
	if d.rarely(3, "refuse") {
		d.do("refuse delegation", func(s journal.Store) (any, error) {
			return s.RefuseDelegation(bounded(d.t), r.id, theRefusal())
		})
		return
	}
	lease := journal.Delegation{
		LeaseRef: one[journal.LeaseRef](d, "attached", "one", "two"), Revision: uint64(d.below(3, "revision")),
	}
	d.do("delegate", func(s journal.Store) (any, error) { return s.Delegate(bounded(d.t), r.id, lease) })
}
