package journaltest

import (
	"maps"
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
		{name: "case A15: executions are counted by state, and the oldest open one of each is found", run: countStates},
		{name: "case A3: what is counted is what the rows say, whatever has happened to them", run: countAgrees},
		{name: "a count of no tenant is refused", run: countRefused},
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

// counts are those of the tenant, without the states that nothing is in.
func (b *bench) counts(tenant string) journal.Counts {
	b.t.Helper()
	found, err := b.Store.Count(b.ctx(), tenant)
	require.NoError(b.t, err)
	maps.DeleteFunc(found, func(_ execution.State, count journal.Count) bool { return count == journal.Count{} })
	return found
}

func countStates(t *testing.T, b *bench) {
	require.Empty(t, b.counts(caller().Tenant))
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
	mark := func(a *actor) *journal.ListMark {
		return &journal.ListMark{CreatedAtMs: a.row().CreatedAtMs, ID: a.id}
	}
	require.Equal(t, journal.Counts{execution.Queued: {Executions: 2, Oldest: mark(first)}}, b.counts(caller().Tenant))
	require.Equal(t, journal.Counts{execution.Queued: {Executions: 3, Oldest: mark(others)}}, b.counts(execution.AllTenants))
	first.claim()
	require.Equal(t, journal.Counts{
		execution.Queued: {Executions: 1, Oldest: mark(second)}, execution.Running: {Executions: 1, Oldest: mark(first)},
	}, b.counts(caller().Tenant))
	first.commit(completeWith("done"))
	require.Equal(t, journal.Counts{
		execution.Queued: {Executions: 1, Oldest: mark(second)}, execution.Completed: {Executions: 1},
	}, b.counts(caller().Tenant))
}

func countAgrees(t *testing.T, b *bench) {
	want := make(map[execution.State]int64)
	for _, state := range execution.States() {
		for range 2 {
			b.arrange(state)
			want[state]++
		}
	}
	found := b.counts(caller().Tenant)
	for state, count := range want {
		require.Equal(t, count, found[state].Executions, state)
		require.Equal(t, state.Terminal(), found[state].Oldest == nil, state)
	}
}

func countRefused(t *testing.T, b *bench) {
	_, err := b.Store.Count(b.ctx(), "")
	require.ErrorIs(t, err, journal.ErrConflict)
}
