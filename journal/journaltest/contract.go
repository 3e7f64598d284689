package journaltest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func contractClauses() []clause {
	return []clause{
		{name: "contract C, transition: compares the state, writes no event, makes only the invisible move", run: transition},
		{name: "contract C, finish: outcome and failure must fit, and the terminal event is derived", run: finish},
		{name: "contract C, transition_with_event: the payload must be the move's own", run: transitionWithEvent},
		{name: "contract C, transition_with_event: state and event are one write, the terminal event is last", run: transitionEnds},
		{name: "contract C, attach_delegation: same lease, higher revision, other lease", run: attachDelegation},
		{name: "contract C, complete_delegation_cleanup: terminal and finalizing rows with that lease", run: completeDelegation},
		{name: "contract C, JournalMutation.replayed: nothing was written and the event is the original one", run: replayed},
		{name: "contract C, recoverable: what a worker could take, and what is left to clean up", run: recoverable},
		{name: "contract C, recoverable: oldest first, limited, nothing written", run: recoverableOrder},
		{name: "contract C, JournalError: refusals are told apart by errors.Is", run: refusals},
		{name: "contract C, JournalDelegation: the lease prints redacted", run: redacted},
	}
}

var inRunning = []execution.State{execution.Running}

func transition(t *testing.T, b *bench) {
	a := b.reserve().claim()
	b.unchanged(func() {
		for _, next := range execution.States() {
			if next != execution.Finalizing {
				_, err := b.Store.Transition(b.ctx(), a.next(), inRunning, next)
				require.ErrorIs(t, err, journal.ErrState, next)
			}
		}
		_, err := b.Store.Transition(b.ctx(), a.next(), nil, execution.Finalizing)
		require.ErrorIs(t, err, journal.ErrConflict)
		_, err = b.Store.Transition(b.ctx(), a.next(), []execution.State{execution.Queued}, execution.Finalizing)
		require.ErrorIs(t, err, journal.ErrState)
	})
	before := a.row()
	row, err := b.Store.Transition(b.ctx(), a.next(), inRunning, execution.Finalizing)
	require.NoError(t, err)
	require.Equal(t, execution.Finalizing, row.State)
	require.Equal(t, before.LastSequence, row.LastSequence)
	require.Equal(t, before.Version+1, row.Version)
	require.NotNil(t, row.Claim, "the holder stays")
	require.Equal(t, b.clock.Ms()+b.cfg.CleanupTimeout.Milliseconds(), a.entry().AtMs)
	_, err = b.Store.Renew(b.ctx(), a.next(), ttl)
	require.NoError(t, err)
	require.Equal(t, b.clock.Ms()+b.cfg.CleanupTimeout.Milliseconds(), a.entry().AtMs, "renew bounds no clean-up")
}

func finish(t *testing.T, b *bench) {
	a := b.reserve().claim()
	outcome, failure := &execution.Outcome{Answer: "done"}, &execution.Failure{Code: "c", Message: "m"}
	b.unchanged(func() {
		for _, end := range []journal.Ending{
			{State: execution.Completed},
			{State: execution.Completed, Outcome: outcome, Failure: failure},
			{State: execution.Failed},
			{State: execution.Failed, Outcome: outcome},
			{State: execution.Canceled, Failure: failure},
			{State: execution.Running},
			{State: execution.Finalizing},
		} {
			_, err := b.Store.Finish(b.ctx(), a.next(), inRunning, end)
			require.ErrorIs(t, err, journal.ErrConflict, "%v", end)
		}
		_, err := b.Store.Finish(b.ctx(), a.next(), nil, completed())
		require.ErrorIs(t, err, journal.ErrConflict)
		_, err = b.Store.Finish(b.ctx(), a.next(), []execution.State{execution.Finalizing}, completed())
		require.ErrorIs(t, err, journal.ErrState)
	})
	for _, state := range []execution.State{execution.Completed, execution.Failed, execution.Canceled} {
		a := b.answered()
		end := endingIn(state)
		hold := a.next()
		answer, err := b.Store.Finish(b.ctx(), hold, inRunning, end)
		require.NoError(t, err)
		require.Equal(t, canonical(t, journal.EndingPayload(end)), canonical(t, answer.Event.Payload))
		require.Equal(t, answer.Execution.LastSequence, answer.Event.Sequence)
		require.Equal(t, state, answer.Execution.State)
		require.Nil(t, answer.Execution.Claim)
		require.Nil(t, answer.Execution.PendingInteraction)
		require.Equal(t, end.Outcome, answer.Execution.Outcome)
		require.Equal(t, end.Failure, answer.Execution.Failure)
		b.unchanged(func() {
			again, err := b.Store.Finish(b.ctx(), hold, inRunning, end)
			require.NoError(t, err)
			require.True(t, again.Replayed)
			require.Equal(t, canonical(t, answer.Event), canonical(t, again.Event))
			_, err = b.Store.Finish(b.ctx(), a.next(), anyState, end)
			require.ErrorIs(t, err, journal.ErrFenced, "a terminal state is never left")
		})
	}
}

func transitionWithEvent(t *testing.T, b *bench) {
	a := b.reserve().claim()
	try := func(end journal.Ending, payload execution.Payload) error {
		_, err := b.Store.TransitionWithEvent(b.ctx(), a.next(), inRunning, end, payload)
		return err
	}
	b.unchanged(func() {
		require.ErrorIs(t, try(completed(), execution.ExecutionCanceled{}), journal.ErrConflict)
		require.ErrorIs(t, try(completed(), execution.ExecutionCompleted{Answer: "another"}), journal.ErrConflict)
		require.ErrorIs(t, try(completed(), nil), journal.ErrConflict)
		require.ErrorIs(t, try(journal.Ending{State: execution.Running, Outcome: &execution.Outcome{}},
			execution.ExecutionStarted{}), journal.ErrConflict)
		require.ErrorIs(t, try(journal.Ending{State: execution.Running}, warning("w")), journal.ErrConflict)
		require.ErrorIs(t, try(journal.Ending{State: execution.Suspended}, execution.ExecutionSuspended{}), journal.ErrState)
		require.ErrorIs(t, try(journal.Ending{State: execution.Failed}, execution.ExecutionFailed{}), journal.ErrConflict)
	})
	require.NoError(t, try(journal.Ending{State: execution.Running}, execution.ExecutionStarted{}))
	require.Equal(t, execution.Running, a.state())
	require.Equal(t, execution.TypeExecutionStarted, a.types()[2])
}

func transitionEnds(t *testing.T, b *bench) {
	for _, state := range []execution.State{execution.Completed, execution.Failed, execution.Canceled} {
		a := b.reserve().claim()
		end := endingIn(state)
		answer, err := b.Store.TransitionWithEvent(b.ctx(), a.next(), anyState, end, journal.EndingPayload(end))
		require.NoError(t, err)
		require.Equal(t, state, answer.Execution.State)
		types := a.types()
		require.Equal(t, journal.EndingPayload(end).EventType(), types[len(types)-1])
		require.Equal(t, "purge", a.entry().Index)
	}
}

func attachDelegation(t *testing.T, b *bench) {
	a := b.reserve().claim()
	attach := func(d journal.Delegation) (journal.Execution, error) {
		return b.Store.AttachDelegation(b.ctx(), a.next(), d)
	}
	row, err := attach(journal.Delegation{LeaseRef: "one", ExpiresAtSeconds: 10, Revision: 2})
	require.NoError(t, err)
	require.Equal(t, &journal.Delegation{LeaseRef: "one", ExpiresAtSeconds: 10, Revision: 2}, row.Delegation)
	version := row.Version
	for _, revision := range []uint64{1, 2} {
		row, err = attach(journal.Delegation{LeaseRef: "one", ExpiresAtSeconds: 99, Revision: revision})
		require.NoError(t, err)
		require.EqualValues(t, 10, row.Delegation.ExpiresAtSeconds)
		require.Equal(t, version, row.Version)
	}
	row, err = attach(journal.Delegation{LeaseRef: "one", ExpiresAtSeconds: 1 << 60, Revision: 3})
	require.NoError(t, err)
	require.EqualValues(t, uint64(1<<60), row.Delegation.ExpiresAtSeconds)
	require.Equal(t, version+1, row.Version)
	b.unchanged(func() {
		_, err = attach(journal.Delegation{LeaseRef: "two", Revision: 9})
		require.ErrorIs(t, err, journal.ErrConflict)
		_, err = attach(journal.Delegation{Revision: 9})
		require.ErrorIs(t, err, journal.ErrConflict)
	})
}

func completeDelegation(t *testing.T, b *bench) {
	for _, state := range []execution.State{execution.Completed, execution.Failed, execution.Canceled} {
		a := b.reserve().claim().attach()
		b.unchanged(func() {
			_, err := b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
			require.ErrorIs(t, err, journal.ErrState, "it has not ended")
		})
		_, err := b.Store.Finish(b.ctx(), a.next(), anyState, endingIn(state))
		require.NoError(t, err)
		b.unchanged(func() {
			_, err = b.Store.CompleteDelegationCleanup(b.ctx(), a.id, "another")
			require.ErrorIs(t, err, journal.ErrConflict)
		})
		events := a.row().LastSequence
		row, err := b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
		require.NoError(t, err)
		require.True(t, row.Delegation.CleanupComplete)
		require.Equal(t, state, row.State)
		require.Equal(t, events, row.LastSequence, "the terminal event stays the last one")
		b.unchanged(func() {
			_, err = b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
			require.NoError(t, err)
		})
	}
	a := b.finalizing().attach()
	row, err := b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
	require.NoError(t, err)
	require.Equal(t, execution.Finalizing, row.State, "its holder has not said how it ends")
	_, err = b.Store.Finish(b.ctx(), a.next(), anyState, completed())
	require.NoError(t, err)
}

func replayed(t *testing.T, b *bench) {
	a := b.reserve().claim()
	hold := a.next()
	first, err := b.Store.BeginInteraction(b.ctx(), hold, question())
	require.NoError(t, err)
	require.False(t, first.Replayed)
	a.input()
	b.unchanged(func() {
		again, err := b.Store.BeginInteraction(b.ctx(), hold, question())
		require.NoError(t, err)
		require.True(t, again.Replayed)
		require.Equal(t, canonical(t, first.Event), canonical(t, again.Event))
		require.Equal(t, execution.Running, again.Execution.State, "the row is the current one")
	})
}

func recoverable(t *testing.T, b *bench) {
	want := map[execution.ID]bool{}
	for _, state := range execution.States() {
		a := b.arrange(state)
		want[a.id] = state == execution.Queued || state == execution.Running || state == execution.Finalizing
	}
	want[b.planned().id] = false // held
	parked := b.reserve().claim()
	parked.commit(waitFor(60_000_000_000))
	want[parked.id] = false
	later := b.reserve(func(n *journal.NewExecution) { n.Request.StartAtMs = b.clock.Ms() + 60_000 })
	want[later.id] = false
	busy := b.reserve()
	turn := b.reserve(func(n *journal.NewExecution) {
		n.ConversationID, n.Request.OnBusy = busy.conv, execution.BusyEnqueue
	})
	want[busy.id], want[turn.id] = true, false
	dirty := b.reserve().claim().attach()
	_, err := b.Store.Finish(b.ctx(), dirty.next(), anyState, completed())
	require.NoError(t, err)
	want[dirty.id] = true
	lost := b.reserve().claim(func(q *journal.ClaimRequest) { q.TTL = 1_000_000 })
	want[lost.id] = true
	b.clock.Advance(1_000_000)
	rows, err := b.Store.Recoverable(b.ctx(), 100)
	require.NoError(t, err)
	got := map[execution.ID]bool{}
	for id := range want {
		got[id] = false
	}
	for _, row := range rows {
		got[row.ID] = true
	}
	require.Equal(t, want, got)
}

func recoverableOrder(t *testing.T, b *bench) {
	var ids []execution.ID
	for range 5 {
		ids = append(ids, b.reserve().id)
		b.clock.Advance(1_000_000)
	}
	b.unchanged(func() {
		for limit := range 7 {
			rows, err := b.Store.Recoverable(b.ctx(), limit)
			require.NoError(t, err)
			require.Len(t, rows, min(limit, 5))
			for i, row := range rows {
				require.Equal(t, ids[i], row.ID)
			}
		}
	})
}

func refusals(t *testing.T, b *bench) {
	a := b.reserve()
	_, err := b.Store.Resume(b.ctx(), testID(thePartition, 4242), journal.Resumption{})
	require.ErrorIs(t, err, journal.ErrNotFound)
	require.NotErrorIs(t, err, journal.ErrConflict)
	require.Contains(t, err.Error(), string(testID(thePartition, 4242)), "the error names the execution")
	_, err = b.Store.Renew(b.ctx(), journal.Hold{Execution: a.id, Fence: "9-x", Operation: 1}, ttl)
	require.ErrorIs(t, err, journal.ErrFenced)
	require.NotErrorIs(t, err, journal.ErrConflict)
	_, err = b.Store.CommitInteractionInput(b.ctx(), a.id, theInput())
	require.ErrorIs(t, err, journal.ErrInteractionClosed)
	require.ErrorIs(t, err, journal.ErrConflict)
}

func redacted(t *testing.T, b *bench) {
	a := b.reserve().claim().attach()
	row := a.row()
	require.Equal(t, theLease, row.Delegation.LeaseRef)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(format, *row.Delegation), string(theLease))
	}
	_, err := b.Store.AttachDelegation(b.ctx(), a.next(), journal.Delegation{LeaseRef: "another-lease"})
	require.ErrorIs(t, err, journal.ErrConflict)
	require.NotContains(t, err.Error(), "lease-1")
	require.NotContains(t, err.Error(), "another-lease")
}
