package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/journal"
)

func renewLasts(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for range 100 {
		b.clock.Advance(ttl / 3)
		renewed, err := b.Store.Renew(b.ctx(), a.next(), ttl)
		require.NoError(t, err)
		require.Equal(t, journal.Renewed{TTL: ttl}, renewed)
		require.Equal(t, b.clock.Ms()+ttl.Milliseconds(), a.entry().AtMs)
	}
	require.Zero(t, a.row().Reclaims)
}

func renewQuiet(t *testing.T, b *bench) {
	a := b.reserve().claim()
	before := a.row()
	b.clock.Advance(time.Second)
	_, err := b.Store.Renew(b.ctx(), a.next(), ttl)
	require.NoError(t, err)
	before.Claim.ExpiresAtMs += 1000
	require.Equal(t, rowText(t, before), rowText(t, a.row()))
}

func renewAgain(t *testing.T, b *bench) {
	for _, lose := range []func(a *actor){
		func(a *actor) { a.runOut().claim() }, func(a *actor) { a.runOut().pause() }, func(a *actor) { a.commit(goOn()) },
	} {
		a := b.reserve().claim()
		hold := a.next()
		first, err := b.Store.Renew(b.ctx(), hold, ttl)
		require.NoError(t, err)
		b.unchanged(func() {
			again, err := b.Store.Renew(b.ctx(), hold, ttl)
			require.NoError(t, err)
			require.Equal(t, first, again)
		})
		lose(a)
		b.unchanged(func() {
			_, err := b.Store.Renew(b.ctx(), hold, ttl)
			require.ErrorIs(t, err, journal.ErrFenced)
		})
	}
}

// renewAll: many renewals at once answer as they would one by one.
func renewAll(t *testing.T, b *bench) {
	together, ok := b.Store.(journal.Renewals)
	if !ok {
		t.Skip("the store renews one by one")
	}
	lost := b.reserve().claim()
	old := lost.next()
	lost.runOut().claim()
	held, canceled := b.reserve().claim(), b.reserve().claim()
	holds := []journal.Hold{held.next(), old, canceled.next(), {Execution: "nobody"}}
	_, err := b.Store.Cancel(b.ctx(), canceled.id)
	require.NoError(t, err)
	if b.Flush != nil {
		b.Flush()
	}
	answers := together.RenewAll(b.ctx(), holds, ttl)
	require.Len(t, answers, len(holds))
	require.NoError(t, answers[0].Err)
	require.Equal(t, journal.Renewed{TTL: ttl}, answers[0].Renewed)
	require.Equal(t, b.clock.Ms()+ttl.Milliseconds(), held.entry().AtMs)
	require.ErrorIs(t, answers[1].Err, journal.ErrFenced)
	require.NoError(t, answers[2].Err)
	require.True(t, answers[2].CancelRequested)
	require.ErrorIs(t, answers[3].Err, journal.ErrNotFound)
	b.unchanged(func() { require.Equal(t, answers[:1], together.RenewAll(b.ctx(), holds[:1], ttl)) })
}
