package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// checkpointClauses are about when checkpoints were written.
func checkpointClauses() []clause {
	return []clause{
		{name: "a checkpoint carries the store's time and, of a commit that tells it, that of its claim", run: checkpointTimes},
		{name: "the boundaries of a chain share their time and their claim's", run: checkpointChain},
		{name: "every commit under a kept claim carries the time of that claim", run: checkpointKept},
		{name: "a repeated commit leaves the first one's time", run: checkpointReplay},
		{name: "a claim that its holder dates later than the commit counts as given with it", run: checkpointFuture},
		{name: "a child's first checkpoint carries the time of its spawn", run: checkpointChild},
		{name: "checkpoints keep their times when the execution has ended", run: checkpointEnded},
		{name: "a page of checkpoints brings those from its first step on, and no more than asked for", run: checkpointPages},
	}
}

// stored are the execution's checkpoints.
func (a *actor) stored() []journal.StoredCheckpoint {
	a.b.t.Helper()
	all, err := a.b.Store.Checkpoints(a.b.ctx(), a.id, 0, 1000)
	require.NoError(a.b.t, err)
	return all
}

// held tells the commit when the actor's claim was given.
func (a *actor) held(q *journal.Commit) { q.ClaimedAtMs = a.claimed.NowMs }

// wrote is a checkpoint of the step as clauses write it.
func wrote(data string, atMs, claimedMs int64) journal.StoredCheckpoint {
	return journal.StoredCheckpoint{Data: []byte(data), AtMs: atMs, ClaimedAtMs: claimedMs}
}

func checkpointTimes(t *testing.T, b *bench) {
	start := b.clock.Ms()
	a := b.reserve()
	b.clock.Advance(2 * time.Second)
	a.claim()
	b.clock.Advance(time.Second)
	a.commit(goOn(), a.held)
	b.clock.Advance(time.Minute)
	a.claim()
	a.commit(goOn(), a.held)
	a.claim()
	b.clock.Advance(1500 * time.Millisecond)
	a.commit(goOn())
	require.Equal(t, []journal.StoredCheckpoint{
		wrote("checkpoint 0", start, 0), wrote("checkpoint 1", start+3000, start+2000), wrote("checkpoint 2", start+63_000, start+63_000),
		wrote("checkpoint 3", start+64_500, 0),
	}, a.stored())
	a.claim()
	require.Equal(t, "checkpoint 3", string(a.claimed.Checkpoint), "a claim brings the bare checkpoint")
	q := a.commitOf(goOn())
	q.ClaimedAtMs = -1
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), q)
		require.ErrorIs(t, err, journal.ErrConflict)
	})
}

func checkpointChain(t *testing.T, b *bench) {
	for name, then := range map[string]journal.Then{"goes on": goOn(), "asks": ask(), "ends": completeWith("done")} {
		a := b.planned()
		claimed := a.claimed.NowMs
		b.clock.Advance(700 * time.Millisecond)
		all := links(1, 3)
		last := &all[2]
		last.Then, last.Keep = then, 0
		a.held(last)
		a.chain(all)
		now := b.clock.Ms()
		require.Equal(t, []journal.StoredCheckpoint{
			wrote("checkpoint 2", now, claimed), wrote("checkpoint 3", now, claimed), wrote("checkpoint 4", now, claimed),
		}, a.stored()[2:], name)
	}
}

func checkpointKept(t *testing.T, b *bench) {
	a := b.reserve().claim()
	claimed := a.claimed.NowMs
	for range 2 {
		b.clock.Advance(time.Second)
		a.commit(goOn(), a.held, func(q *journal.Commit) { q.Keep = ttl })
	}
	require.Equal(t, []journal.StoredCheckpoint{
		wrote("checkpoint 1", claimed+1000, claimed), wrote("checkpoint 2", claimed+2000, claimed),
	}, a.stored()[1:])
}

func checkpointReplay(t *testing.T, b *bench) {
	a := b.reserve().claim()
	q := a.commitOf(goOn(), a.held)
	_, err := b.Store.Commit(b.ctx(), q)
	require.NoError(t, err)
	before := a.stored()
	b.clock.Advance(time.Second)
	b.unchanged(func() {
		again, err := b.Store.Commit(b.ctx(), q)
		require.NoError(t, err)
		require.True(t, again.Replayed)
	})
	require.Equal(t, before, a.stored())
}

func checkpointFuture(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for _, kind := range []journal.Then{goOn(), waitFor(0)} { // both ways of a commit
		a.commit(kind, func(q *journal.Commit) { q.ClaimedAtMs, q.Keep = b.clock.Ms()+1, 0 })
		step := a.row().Step
		require.Equal(t, b.clock.Ms(), a.stored()[step].AtMs)
		require.Equal(t, b.clock.Ms(), a.stored()[step].ClaimedAtMs)
		if kind.Kind == journal.ThenContinue {
			a.claim()
		}
	}
}

func checkpointChild(t *testing.T, b *bench) {
	parent := b.reserve().claim()
	b.clock.Advance(time.Second)
	child := parent.spawn(theCall)
	require.Equal(t, []journal.StoredCheckpoint{wrote("checkpoint 0", b.clock.Ms(), 0)}, child.stored())
}

func checkpointEnded(t *testing.T, b *bench) {
	start := b.clock.Ms()
	a := b.reserve().claim()
	b.clock.Advance(time.Second)
	a.commit(completeWith("done"), a.held)
	require.Equal(t, execution.Completed, a.state())
	require.Equal(t, []journal.StoredCheckpoint{
		wrote("checkpoint 0", start, 0), wrote("checkpoint 1", start+1000, start),
	}, a.stored())
}

func checkpointPages(t *testing.T, b *bench) {
	a := b.reserve()
	for range 3 {
		a.claim()
		b.clock.Advance(time.Second)
		a.commit(goOn(), a.held)
	}
	all := a.stored()
	require.Len(t, all, 4)
	for from := range execution.Step(6) {
		for limit := range 6 {
			page, err := b.Store.Checkpoints(b.ctx(), a.id, from, limit)
			require.NoError(t, err)
			first := min(int(from), len(all))
			want := all[first:min(first+limit, len(all))]
			require.Equal(t, canonical(t, want), canonical(t, page), "%d from %d", limit, from)
		}
	}
}
