package journaltest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func listClauses() []clause {
	return []clause{
		{name: "executions are listed newest first, whatever their partitions and however many share an instant", run: listOrder},
		{name: "a listing is the caller's tenant's, or the caller's own, or for the on-call view everybody's", run: listScope},
		{name: "every state lists its executions, and a move lists them elsewhere", run: listStates},
		{name: "a conversation lists its executions, and those only", run: listConversation},
		{name: "agent, metadata and the last change are filters", run: listFilters},
		{name: "what comes and goes between two pages is neither repeated nor skipped", run: listStable},
		{name: "a page looks at a bounded number of rows and says where it goes on", run: listBounded},
		{name: "a purged execution is listed no more", run: listPurged},
		{name: "a listing that makes no sense is refused", run: listRefused},
	}
}

// walk follows a listing to its end, page by page.
func (b *bench) walk(l journal.Listing) []execution.ID {
	b.t.Helper()
	if l.Caller == (execution.CallerScope{}) {
		l.Caller = caller()
	}
	if l.Limit == 0 {
		l.Limit = 100
	}
	ids := []execution.ID{}
	seen := map[execution.ID]bool{}
	for range 1000 {
		page, err := b.Store.List(b.ctx(), l)
		require.NoError(b.t, err)
		require.LessOrEqual(b.t, len(page.Executions), l.Limit)
		for _, row := range page.Executions {
			mark := journal.ListMark{CreatedAtMs: row.CreatedAtMs, ID: row.ID}
			require.False(b.t, seen[row.ID], "%s is listed twice", row.ID)
			require.True(b.t, l.After == nil || l.After.Before(mark), "%s is out of order", row.ID)
			seen[row.ID], l.After = true, &mark
			ids = append(ids, row.ID)
		}
		if page.Next == nil {
			return ids
		}
		require.False(b.t, l.After != nil && page.Next.Before(*l.After), "it goes on before its end")
		l.After = page.Next
	}
	require.Fail(b.t, "the listing does not end")
	return nil
}

// at moves a submission into partition p.
func at(p execution.Partition) func(*journal.NewExecution) {
	return func(n *journal.NewExecution) {
		n.ID, n.ConversationID = "exec_"+execution.ID(p.Tag()[1:])+n.ID[7:], "conv_"+execution.ConversationID(p.Tag()[1:])+n.ConversationID[7:]
	}
}

func by(tenant, subject string) func(*journal.NewExecution) {
	return func(n *journal.NewExecution) { n.Caller = execution.CallerScope{Tenant: tenant, Subject: subject} }
}

func ids(actors ...*actor) []execution.ID {
	out := []execution.ID{}
	for _, a := range actors {
		out = append(out, a.id)
	}
	return out
}

func listOrder(t *testing.T, b *bench) {
	require.Empty(t, b.walk(journal.Listing{}), "an empty store")
	type placed struct {
		mark journal.ListMark
		id   execution.ID
	}
	var all []placed
	for i := range 150 {
		if i%40 == 39 {
			b.clock.Advance(time.Millisecond)
		}
		a := b.reserve(at(execution.Partition(i * i % 7 * 9)))
		all = append(all, placed{journal.ListMark{CreatedAtMs: b.clock.Ms(), ID: a.id}, a.id})
	}
	slices.SortFunc(all, func(x, y placed) int {
		if x.mark.Before(y.mark) {
			return -1
		}
		return 1
	})
	want := []execution.ID{}
	for _, one := range all {
		want = append(want, one.id)
	}
	b.unchanged(func() {
		for _, limit := range []int{1, 7, 64, 150, 1000} {
			require.Equal(t, want, b.walk(journal.Listing{Limit: limit}), "limit %d", limit)
		}
	})
	page, err := b.Store.List(b.ctx(), journal.Listing{Caller: caller(), Limit: 1})
	require.NoError(t, err)
	row, err := b.Store.Get(b.ctx(), want[0])
	require.NoError(t, err)
	require.Equal(t, canonical(t, row), canonical(t, page.Executions[0]), "rows are whole")
}

func listScope(t *testing.T, b *bench) {
	mine, other := b.reserve(by("t", "me")), b.reserve(by("t", "you"))
	foreign, odd := b.reserve(by("t2", "me")), b.reserve(by("t:me", "x"))
	for _, state := range []execution.State{"", execution.Queued} {
		walk := func(tenant, subject string, own bool) []execution.ID {
			scope := execution.CallerScope{Tenant: tenant, Subject: subject}
			return b.walk(journal.Listing{Caller: scope, Own: own, State: state})
		}
		require.ElementsMatch(t, ids(mine, other), walk("t", "me", false))
		require.Equal(t, ids(mine), walk("t", "me", true))
		require.Equal(t, ids(other), walk("t", "you", true))
		require.Empty(t, walk("t", "nobody", true))
		require.ElementsMatch(t, ids(mine, other), walk("t", "nobody", false))
		require.Equal(t, ids(foreign), walk("t2", "you", false))
		require.Equal(t, ids(odd), walk("t:me", "x", true))
		require.Empty(t, walk("t:", "me", false))
		require.ElementsMatch(t, ids(mine, other, foreign, odd), walk(execution.AllTenants, "on call", false))
		require.Empty(t, walk(execution.AllTenants, "me", true))
	}
	foreignTalk := journal.Listing{Caller: execution.CallerScope{Tenant: "t", Subject: "me"}, ConversationID: foreign.conv}
	require.Empty(t, b.walk(foreignTalk), "another tenant's conversation")
	onCall := journal.Listing{Caller: execution.CallerScope{Tenant: execution.AllTenants}, ConversationID: foreign.conv}
	require.Equal(t, ids(foreign), b.walk(onCall))
	othersTalk := journal.Listing{Caller: foreignTalk.Caller, Own: true, ConversationID: other.conv}
	require.Empty(t, b.walk(othersTalk), "another subject's conversation")
}

func listStates(t *testing.T, b *bench) {
	want := map[execution.State][]execution.ID{}
	for _, state := range execution.States() {
		want[state] = ids(b.arrange(state))
		b.clock.Advance(time.Millisecond)
	}
	for _, own := range []bool{false, true} {
		for _, state := range execution.States() {
			require.Equal(t, want[state], b.walk(journal.Listing{State: state, Own: own}), "%s", state)
			onCall := journal.Listing{Caller: execution.CallerScope{Tenant: execution.AllTenants}, State: state}
			require.Equal(t, want[state], b.walk(onCall), "%s", state)
		}
		require.Len(t, b.walk(journal.Listing{Own: own}), len(execution.States()))
	}
	a := b.arrange(execution.WaitingForInput)
	require.Contains(t, b.walk(journal.Listing{State: execution.WaitingForInput}), a.id)
	a.input()
	require.NotContains(t, b.walk(journal.Listing{State: execution.WaitingForInput}), a.id)
	require.Contains(t, b.walk(journal.Listing{State: execution.Running}), a.id)
	a.claim().commit(failWith("x"))
	require.NotContains(t, b.walk(journal.Listing{State: execution.Running}), a.id)
	require.Contains(t, b.walk(journal.Listing{State: execution.Failed}), a.id)
}

func listConversation(t *testing.T, b *bench) {
	a := b.reserve()
	b.reserve()
	talk := journal.Listing{ConversationID: a.conv}
	require.Equal(t, ids(a), b.walk(talk), "the only one")
	var all []*actor
	for range 3 {
		b.clock.Advance(time.Millisecond)
		all = append(all, a.follow())
	}
	want := ids(all[2], all[1], all[0], a)
	require.Equal(t, want, b.walk(talk))
	talk.Limit = 1
	require.Equal(t, want, b.walk(talk))
	talk.State = execution.Queued
	require.Equal(t, want, b.walk(talk))
	talk.State = execution.Completed
	a.claim().commit(completeWith("done"))
	require.Equal(t, ids(a), b.walk(talk))
	require.Empty(t, b.walk(journal.Listing{ConversationID: "nobody-spoke-here"}))
}

func listFilters(t *testing.T, b *bench) {
	first := b.reserve(func(n *journal.NewExecution) {
		n.Request.Agent, n.Request.Metadata = "one", map[string]string{"order": "1", "shop": "x"}
	})
	b.clock.Advance(time.Second)
	second := b.reserve(func(n *journal.NewExecution) { n.Request.Agent, n.Request.Metadata = "two", nil })
	b.clock.Advance(time.Second)
	third := b.reserve(func(n *journal.NewExecution) { n.Request.Metadata = map[string]string{"order": "2", "shop": "x"} })
	b.clock.Advance(time.Second)
	since := b.clock.Ms()
	first.claim().commit(completeWith("done"))
	for _, own := range []bool{false, true} {
		check := func(want []execution.ID, l journal.Listing) {
			l.Own = own
			require.Equal(t, want, b.walk(l))
		}
		check(ids(first), journal.Listing{Agent: "one"})
		check(ids(second), journal.Listing{Agent: "two"})
		check(ids(), journal.Listing{Agent: "none"})
		check(ids(third, first), journal.Listing{Metadata: map[string]string{"shop": "x"}})
		check(ids(first), journal.Listing{Metadata: map[string]string{"shop": "x", "order": "1"}})
		check(ids(), journal.Listing{Metadata: map[string]string{"shop": "y"}})
		check(ids(), journal.Listing{Metadata: map[string]string{"else": ""}})
		check(ids(first), journal.Listing{UpdatedSinceMs: since})
		check(ids(), journal.Listing{UpdatedSinceMs: since + 1})
		check(ids(third, second, first), journal.Listing{UpdatedSinceMs: since - 2000})
		check(ids(first), journal.Listing{Agent: "one", State: execution.Completed, UpdatedSinceMs: since})
		check(ids(), journal.Listing{Agent: "one", State: execution.Queued})
	}
}

func listStable(t *testing.T, b *bench) {
	var all []*actor
	for i := range 6 {
		all = append(all, b.reserve(at(execution.Partition(i%3*20))))
		b.clock.Advance(time.Millisecond)
	}
	l := journal.Listing{Caller: caller(), Limit: 2}
	page, err := b.Store.List(b.ctx(), l)
	require.NoError(t, err)
	require.Equal(t, all[4].id, page.Executions[1].ID)
	require.Equal(t, &journal.ListMark{CreatedAtMs: page.Executions[1].CreatedAtMs, ID: all[4].id}, page.Next)
	b.reserve()     // newer than what was read
	all[3].cancel() // it moves
	all[4].cancel() // so does the one at the mark
	l.After = page.Next
	require.Equal(t, ids(all[3], all[2], all[1], all[0]), b.walk(l))
	b.clock.Advance(b.cfg.Retention)
	require.NoError(t, b.Store.Purge(b.ctx(), all[4].due()))
	require.Equal(t, ids(all[3], all[2], all[1], all[0]), b.walk(l), "the one at the mark is gone")
}

func listBounded(t *testing.T, b *bench) {
	const many = journal.MaxListed + 50
	wanted := b.reserve(func(n *journal.NewExecution) { n.Request.Agent = "wanted" })
	for range many {
		b.reserve(at(execution.Partition(b.count % execution.Partitions)))
		b.clock.Advance(time.Millisecond)
	}
	l := journal.Listing{Caller: caller(), Agent: "wanted", Limit: 10}
	page, err := b.Store.List(b.ctx(), l)
	require.NoError(t, err)
	require.Empty(t, page.Executions)
	require.NotNil(t, page.Next, "it is not the last one")
	l.After = page.Next
	page, err = b.Store.List(b.ctx(), l)
	require.NoError(t, err)
	require.Len(t, page.Executions, 1)
	require.Equal(t, wanted.id, page.Executions[0].ID)
	require.Nil(t, page.Next)
}

func listPurged(t *testing.T, b *bench) {
	states := []execution.State{execution.Completed, execution.Failed, execution.Canceled}
	talk := b.arrange(execution.Completed)
	for _, state := range states {
		b.arrange(state)
	}
	second := b.reserve(func(n *journal.NewExecution) { n.ConversationID = talk.conv })
	require.Len(t, b.walk(journal.Listing{ConversationID: talk.conv}), 2)
	b.clock.Advance(b.cfg.Retention)
	due, err := b.Store.Sweep(b.ctx(), thePartition, 100)
	require.NoError(t, err)
	for _, d := range due {
		if d.Action == journal.ActPurge {
			require.NoError(t, b.Store.Purge(b.ctx(), d))
		}
	}
	for _, own := range []bool{false, true} {
		require.Equal(t, ids(second), b.walk(journal.Listing{Own: own}))
		for _, state := range states {
			require.Empty(t, b.walk(journal.Listing{State: state, Own: own}), "%s", state)
			onCall := journal.Listing{Caller: execution.CallerScope{Tenant: execution.AllTenants}, State: state}
			require.Empty(t, b.walk(onCall), "%s", state)
		}
	}
	require.Equal(t, ids(second), b.walk(journal.Listing{ConversationID: talk.conv}))
	second.cancel()
	require.NoError(t, b.Store.Purge(b.ctx(), second.due()))
	require.Empty(t, b.walk(journal.Listing{}))
	for key := range b.Dump() {
		require.Fail(t, fmt.Sprintf("%s is left", key))
	}
}

func listRefused(t *testing.T, b *bench) {
	b.reserve()
	b.unchanged(func() {
		for name, change := range map[string]func(*journal.Listing){
			"no limit":         func(l *journal.Listing) { l.Limit = 0 },
			"a negative limit": func(l *journal.Listing) { l.Limit = -1 },
			"no tenant":        func(l *journal.Listing) { l.Caller.Tenant = "" },
			"another state":    func(l *journal.Listing) { l.State = "dreaming" },
			"a bad mark":       func(l *journal.Listing) { l.After = &journal.ListMark{ID: "exec_1"} },
		} {
			l := journal.Listing{Caller: caller(), Limit: 10}
			change(&l)
			_, err := b.Store.List(b.ctx(), l)
			require.ErrorIs(t, err, journal.ErrConflict, name)
		}
	})
}
