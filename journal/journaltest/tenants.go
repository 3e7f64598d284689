package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func tenantClauses() []clause {
	return []clause{
		{name: "what two tenants call alike are two conversations", run: chosenAlike},
		{name: "names of tenants and ids never meet", run: chosenHostile},
		{name: "subjects of one tenant share a conversation", run: sharedByTenant},
		{name: "a minted conversation of another tenant is refused as one that is not there", run: foreignMinted},
		{name: "a minted conversation that only others need is not there", run: mintedClosed},
		{name: "the on-call view lists every tenant's conversation of an id", run: chosenListed},
		{name: "the on-call view lists an id that very many tenants chose", run: chosenByMany},
		{name: "another tenant's conversation is listed as one that is not there, however long it is", run: foreignListed},
	}
}

// chosen submits to the tenant's conversation of the id, as a client that names it.
func chosen(tenant string, id execution.ConversationID) func(*journal.NewExecution) {
	return func(n *journal.NewExecution) {
		p := id.Partition(tenant)
		n.ID = "exec_" + execution.ID(p.Tag()[1:]) + n.ID[7:]
		n.ConversationID, n.Request.ConversationID, n.Caller.Tenant = id, id, tenant
	}
}

func onCall() execution.CallerScope {
	return execution.CallerScope{Tenant: execution.AllTenants, Subject: "on call"}
}

func chosenAlike(t *testing.T, b *bench) {
	empty := b.Dump()
	mine, theirs := b.reserve(chosen("acme", "ticket:42")), b.reserve(chosen("other", "ticket:42"))
	for _, a := range []*actor{mine, theirs} {
		row := a.row()
		require.Equal(t, execution.ConversationID("ticket:42"), row.ConversationID, "what the client called it")
		require.True(t, row.Active, "nobody is before it")
		require.Equal(t, execution.ConversationID("ticket:42"), a.claim().claimed.Execution.ConversationID)
		a.commit(goOn(), func(q *journal.Commit) { q.Messages, q.ReadsHistory = [][]byte{[]byte(row.Caller.Tenant)}, true })
		require.Equal(t, [][]byte{[]byte("hello"), []byte(row.Caller.Tenant)}, a.claim().claimed.Messages)
		a.hears("hello", row.Caller.Tenant)
	}
	b.unchanged(func() {
		_, err := b.Store.Reserve(b.ctx(), b.submission(chosen("acme", "ticket:42")))
		require.ErrorIs(t, err, journal.ErrConversationBusy)
	})
	mine.commit(completeWith("done"))
	second := b.reserve(chosen("acme", "ticket:42"))
	second.hears("hello", "acme", "hello")
	theirs.hears("hello", "other")
	second.cancel()
	theirs.cancel()
	theirs.release()
	for _, gone := range []*actor{second, mine} {
		gone.delete()
	}
	theirs.hears("hello", "other")
	theirs.delete()
	require.Equal(t, empty, b.Dump(), "nothing stays")
}

func chosenHostile(t *testing.T, b *bench) {
	empty := b.Dump()
	var all []*actor
	for _, tenant := range []string{
		"t", "t:messages", "t%3amessages", "a/b", "a%2fb", "{p07}", "*", " ", "\n", "ü", "\xff", "conv", "%", "talk/t",
	} {
		for _, id := range []execution.ConversationID{"talk", "talk:messages", "talk:waiting", "t"} {
			if tenant == execution.AllTenants {
				continue
			}
			a := b.reserve(chosen(tenant, id)).claim()
			all = append(all, a)
			a.commit(goOn(), func(q *journal.Commit) { q.Messages = [][]byte{[]byte(tenant + string(id))} })
			b.reserve(chosen(tenant, id), func(n *journal.NewExecution) { n.Request.OnBusy = execution.BusyEnqueue }).cancel()
			l := journal.Listing{Caller: execution.CallerScope{Tenant: tenant, Subject: "x"}, ConversationID: id}
			require.Len(t, b.walk(l), 2, "%q of %q", id, tenant)
		}
	}
	for _, a := range all {
		row := a.row()
		a.hears("hello", row.Caller.Tenant+string(row.ConversationID))
		a.cancel()
	}
	for _, id := range b.walk(journal.Listing{Caller: onCall()}) {
		require.NoError(t, b.Store.Delete(b.ctx(), id))
	}
	require.Equal(t, empty, b.Dump(), "nothing stays")
}

func sharedByTenant(t *testing.T, b *bench) {
	for _, id := range []execution.ConversationID{"talk", testConversation(thePartition, 99)} {
		open := chosen("acme", id)
		if id.Minted() {
			open = func(n *journal.NewExecution) { n.ConversationID, n.Caller.Tenant = id, "acme" }
		}
		b.reserve(open, func(n *journal.NewExecution) { n.Caller.Subject = "ann" }).cancel()
		second := b.reserve(chosen("acme", id), func(n *journal.NewExecution) {
			n.Caller.Subject, n.Messages = "bob", [][]byte{[]byte("again")}
		})
		second.hears("hello", "again")
	}
}

func foreignMinted(t *testing.T, b *bench) {
	a := b.reserve()
	for _, busy := range []execution.OnBusy{"", execution.BusyEnqueue, execution.BusyInterrupt, execution.BusyRollback} {
		for _, c := range []struct {
			tenant string
			id     execution.ConversationID
		}{
			{"another", a.conv},
			{"another", testConversation(thePartition, 999)},
			{caller().Tenant, testConversation(thePartition, 999)},
		} {
			for _, key := range []string{"", "k1", "k2", "k3"} { // of this partition and of others
				b.unchanged(func() {
					_, err := b.Store.Reserve(b.ctx(), b.submission(chosen(c.tenant, c.id), func(n *journal.NewExecution) {
						n.Request.OnBusy, n.IdempotencyKey = busy, key
					}))
					require.ErrorIs(t, err, journal.ErrNoConversation)
					require.ErrorIs(t, err, journal.ErrNotFound)
					require.NotErrorIs(t, err, journal.ErrConflict, "it tells nothing")
				})
			}
		}
	}
	require.Equal(t, execution.Queued, a.state())
	a.cancel()
	b.reserve(chosen(caller().Tenant, a.conv)).hears("hello", "hello")
}

func mintedClosed(t *testing.T, b *bench) {
	a := b.reserve().ends("answer")
	fork := a.fork(journal.Fork{Whole: true}, "one")
	a.delete()
	b.unchanged(func() {
		_, err := b.Store.Reserve(b.ctx(), b.submission(chosen(caller().Tenant, a.conv)))
		require.ErrorIs(t, err, journal.ErrNoConversation)
	})
	fork.hears("hello", "answer", "one")
}

func chosenListed(t *testing.T, b *bench) {
	var all []*actor
	for _, tenant := range []string{"acme", "other", "third"} {
		for range 2 {
			all = append(all, b.reserve(chosen(tenant, "a:b"), func(n *journal.NewExecution) {
				n.Request.OnBusy = execution.BusyEnqueue
			}))
			b.clock.Advance(time.Millisecond)
		}
		b.reserve(chosen(tenant, "a:b0")).cancel()
		b.reserve(chosen(tenant, "a:")).cancel()
	}
	l := journal.Listing{Caller: onCall(), ConversationID: "a:b"}
	want := ids(all[5], all[4], all[3], all[2], all[1], all[0])
	for _, limit := range []int{1, 2, 100} {
		l.Limit = limit
		require.Equal(t, want, b.walk(l))
	}
	l.State = execution.Queued
	require.Equal(t, want, b.walk(l))
	all[0].claim().commit(completeWith("done"))
	require.Equal(t, want[:5], b.walk(l))
	l.State = ""
	require.Equal(t, ids(all[3], all[2]), b.walk(journal.Listing{
		Caller: execution.CallerScope{Tenant: "other", Subject: "anybody"}, ConversationID: "a:b",
	}))
	all[0].delete()
	require.Equal(t, want[:5], b.walk(l))
	all[1].cancel()
	all[1].delete()
	require.Equal(t, want[:4], b.walk(l), "of a tenant's nothing is left")
	require.Empty(t, b.walk(journal.Listing{Caller: onCall(), ConversationID: "nobody-spoke-here"}))
	minted := b.reserve(by("acme", "ann"))
	require.Equal(t, ids(minted), b.walk(journal.Listing{Caller: onCall(), ConversationID: minted.conv}))
}

// chosenByMany: a page looks at a bounded number of rows here too, and says where it goes on.
func chosenByMany(t *testing.T, b *bench) {
	const tenants = 64 * 18 // more than a listing reads of in one partition
	var want []execution.ID
	for i := range tenants {
		tenant := "tenant" + string(testID(0, i)[8:])
		a := b.reserve(chosen(tenant, "main"), func(n *journal.NewExecution) { n.Messages = nil })
		if i%50 == 0 {
			b.reserve(chosen(tenant, "another")).cancel()
		}
		b.clock.Advance(time.Millisecond)
		want = append([]execution.ID{a.id}, want...)
	}
	l := journal.Listing{Caller: onCall(), ConversationID: "main", Limit: 500}
	require.Equal(t, want, b.walk(l))
	l.State = execution.Queued
	require.Equal(t, want, b.walk(l))
	l.State = execution.Failed
	require.Empty(t, b.walk(l))
}

// foreignListed: neither a page nor its having a next one says that the conversation is there.
func foreignListed(t *testing.T, b *bench) {
	a := b.reserve(func(n *journal.NewExecution) { n.Request.Metadata = nil })
	for range journal.MaxListed + 1 {
		a.cancel()
		a = b.reserve(func(n *journal.NewExecution) { n.ConversationID, n.Request.Metadata = a.conv, nil })
	}
	for _, own := range []bool{false, true} {
		page, err := b.Store.List(b.ctx(), journal.Listing{
			Caller: execution.CallerScope{Tenant: "another", Subject: "eve"}, Own: own, ConversationID: a.conv, Limit: 1,
		})
		require.NoError(t, err)
		require.Empty(t, page.Executions)
		require.Nil(t, page.Next)
	}
}
