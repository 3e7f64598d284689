package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func inspectClauses() []clause {
	return []clause{
		{name: "a look shows the task that should be standing, and since when", run: inspectTask},
		{name: "a look shows the line of the conversation", run: inspectLine},
		{name: "a look shows when somebody looks again, in every state", run: inspectEntry},
		{name: "case A15: the oldest open execution of a tenant is found by state", run: oldest},
		{name: "the oldest execution of no tenant, or in a terminal state, is refused", run: oldestRefused},
	}
}

// inspect looks at the execution; the row is the one that Get returns.
func (a *actor) inspect() journal.Inspection {
	a.b.t.Helper()
	inspection, err := a.b.Store.Inspect(a.b.ctx(), a.id)
	require.NoError(a.b.t, err)
	require.Equal(a.b.t, a.row(), inspection.Execution)
	require.Equal(a.b.t, a.b.clock.Ms(), inspection.NowMs)
	return inspection
}

func inspectTask(t *testing.T, b *bench) {
	a := b.reserve()
	since := b.clock.Ms()
	b.clock.Advance(time.Second)
	seen := a.inspect()
	require.Equal(t, &execution.Task{Execution: a.id, Wake: 1, Queue: "default-new"}, seen.Task)
	require.Equal(t, since, seen.RunnableAtMs)
	a.claim()
	seen = a.inspect()
	require.Nil(t, seen.Task)
	require.Zero(t, seen.RunnableAtMs)
	require.Equal(t, b.clock.Ms()+ttl.Milliseconds(), seen.LookAtMs, "the claim's expiry")
	a.commit(goOn())
	require.Equal(t, &execution.Task{Execution: a.id, Step: 1, Wake: 2, Queue: "default"}, a.inspect().Task)
	_, err := b.Store.Inspect(b.ctx(), testID(thePartition, 999))
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func inspectLine(t *testing.T, b *bench) {
	a := b.reserve()
	second, third := a.follow(), a.follow()
	require.Equal(t, []int{0, 0, 1}, []int{a.inspect().Ahead, second.inspect().Ahead, third.inspect().Ahead})
	for _, one := range []*actor{a, second, third} {
		require.Equal(t, a.id, one.inspect().ActiveID)
	}
	a.cancel()
	require.Equal(t, second.id, third.inspect().ActiveID)
	require.Zero(t, third.inspect().Ahead)
	second.cancel()
	third.cancel()
	require.Empty(t, third.inspect().ActiveID)
}

func inspectEntry(t *testing.T, b *bench) {
	for _, state := range execution.States() {
		a := b.arrange(state)
		b.unchanged(func() { require.Equal(t, a.entry().AtMs, a.inspect().LookAtMs, state) })
	}
}

func oldest(t *testing.T, b *bench) {
	find := func(state execution.State) *journal.ListMark {
		mark, found, err := b.Store.Oldest(b.ctx(), caller().Tenant, state)
		require.NoError(t, err)
		if !found {
			require.Zero(t, mark)
			return nil
		}
		return &mark
	}
	for _, state := range execution.States() {
		if !state.Terminal() {
			require.Nil(t, find(state), state)
		}
	}
	elsewhere := func(p execution.Partition) func(*journal.NewExecution) {
		return func(n *journal.NewExecution) {
			n.ID, n.ConversationID = testID(p, b.number()), testConversation(p, b.number())
		}
	}
	others := b.reserve(elsewhere(3), func(n *journal.NewExecution) { n.Caller.Tenant = "another" })
	b.clock.Advance(time.Minute)
	first := b.reserve(elsewhere(9))
	b.clock.Advance(time.Minute)
	second := b.reserve(elsewhere(2))
	require.Equal(t, &journal.ListMark{CreatedAtMs: first.row().CreatedAtMs, ID: first.id}, find(execution.Queued))
	mark, found, err := b.Store.Oldest(b.ctx(), execution.AllTenants, execution.Queued)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, others.id, mark.ID, "of all tenants")
	first.claim()
	require.Equal(t, second.id, find(execution.Queued).ID)
	require.Equal(t, first.id, find(execution.Running).ID)
	first.commit(completeWith("done"))
	require.Nil(t, find(execution.Running))
}

func oldestRefused(t *testing.T, b *bench) {
	for _, state := range []execution.State{execution.Completed, execution.Failed, execution.Canceled, "", "open"} {
		_, _, err := b.Store.Oldest(b.ctx(), caller().Tenant, state)
		require.ErrorIs(t, err, journal.ErrConflict, state)
	}
	_, _, err := b.Store.Oldest(b.ctx(), "", execution.Queued)
	require.ErrorIs(t, err, journal.ErrConflict)
}
