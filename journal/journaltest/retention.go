package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func retentionClauses() []clause {
	return []clause{
		{name: "an execution is purged when its own retention has passed, and its key with it", run: retentionOwn},
		{name: "suspended, it stays for its own retention or the store's, whichever is longer", run: retentionSuspended},
		{name: "a resume stores other overrides and another deadline, from the start", run: resumeStores},
		{name: "a resume of a queued execution moves the deadline that its start will have", run: resumeQueued},
	}
}

func keptFor(d time.Duration) func(*journal.NewExecution) {
	return func(n *journal.NewExecution) { n.Retention = d }
}

func retentionOwn(t *testing.T, b *bench) {
	for _, own := range []time.Duration{time.Second, 10 * 365 * 24 * time.Hour} {
		for _, key := range []string{"k1", "k2", "k3"} {
			a := b.reserve(keptFor(own), func(n *journal.NewExecution) { n.IdempotencyKey = key })
			a.claim().commit(completeWith("done"))
			require.Equal(t, b.clock.Ms()+own.Milliseconds(), a.entry().AtMs)
			require.Equal(t, "purge", a.entry().Index)
			seen := a.due()
			require.NoError(t, b.Store.Purge(b.ctx(), seen))
			require.Equal(t, journal.Gone, a.state())
			for member := range b.Dump() {
				require.NotContains(t, member, "idem:", "a key lives as long as its row")
			}
		}
	}
}

func retentionSuspended(t *testing.T, b *bench) {
	for _, own := range []time.Duration{0, time.Second, 2 * b.cfg.Retention} {
		a := b.reserve(keptFor(own))
		a.pause()
		stays := max(own, b.cfg.Retention)
		require.Equal(t, b.clock.Ms()+stays.Milliseconds(), a.entry().AtMs)
		b.clock.Advance(stays - time.Millisecond)
		early := a.entry()
		answer, err := b.Store.Expire(b.ctx(), early)
		require.NoError(t, err)
		require.False(t, answer.Moved)
		answer, err = b.Store.Expire(b.ctx(), a.due())
		require.NoError(t, err)
		require.Equal(t, execution.Failed, answer.State)
		require.Equal(t, execution.CodeSuspensionExpired, a.row().Failure.Code)
	}
}

func (a *actor) resumeWith(resumption journal.Resumption) journal.Change {
	a.b.t.Helper()
	change, err := a.b.Store.Resume(a.b.ctx(), a.id, resumption)
	require.NoError(a.b.t, err)
	return change
}

func resumeStores(t *testing.T, b *bench) {
	a := b.reserve(func(n *journal.NewExecution) { n.Overrides, n.Deadline = []byte("before"), time.Minute }).claim()
	started := a.row().StartedAtMs
	resumption := journal.Resumption{Overrides: []byte("after"), Deadline: time.Hour}
	b.unchanged(func() { require.False(t, a.resumeWith(resumption).Changed, "it is not suspended") })
	a.release(suspendFor)
	b.clock.Advance(time.Second)
	row := a.resumeWith(resumption).Execution
	require.Equal(t, "after", string(row.Overrides))
	require.Equal(t, started+time.Hour.Milliseconds(), row.DeadlineAtMs)
	require.Equal(t, "after", string(a.claim().claimed.Execution.Overrides))
	b.unchanged(func() { require.False(t, a.resumeWith(resumption).Changed, "repeated") })
	a.release(suspendFor)
	row = a.resumeWith(journal.Resumption{}).Execution
	require.Equal(t, "after", string(row.Overrides), "nothing said is nothing changed")
	require.Equal(t, started+time.Hour.Milliseconds(), row.DeadlineAtMs)
}

func resumeQueued(t *testing.T, b *bench) {
	a := b.reserve()
	a.pause()
	require.Zero(t, a.resumeWith(journal.Resumption{Deadline: time.Hour}).Execution.DeadlineAtMs)
	require.Equal(t, b.clock.Ms()+time.Hour.Milliseconds(), a.claim().row().DeadlineAtMs)
}
