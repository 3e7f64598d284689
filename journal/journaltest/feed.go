package journaltest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func feedClauses() []clause {
	return []clause{
		{name: "whoever follows an execution is told that it changed, and nobody else", run: followChange},
		{name: "frames reach those who follow now and are kept nowhere", run: followFrame},
		{name: "a slow follower loses frames, never the fact that something changed", run: followSlow},
		{name: "a worker is told of cancels and pauses recorded for what it holds", run: followRequests},
		{name: "a closed subscription closes its channel, once", run: followClose},
	}
}

// within is how long a signal may take.
const within = 10 * time.Second

func next[T any](t *testing.T, signals <-chan T) T {
	t.Helper()
	select {
	case signal, open := <-signals:
		require.True(t, open, "closed by nobody")
		return signal
	case <-time.After(within):
		require.Fail(t, "no signal came")
		panic("unreachable")
	}
}

// drain waits for a change, after any frames.
func drain(t *testing.T, signals <-chan journal.Signal) {
	t.Helper()
	for next(t, signals).Frame != nil {
		continue
	}
}

func follow(t *testing.T, b *bench, id execution.ID) journal.Subscription {
	t.Helper()
	sub, err := b.Store.Follow(b.ctx(), id)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sub.Close()) })
	return sub
}

func followChange(t *testing.T, b *bench) {
	a, other := b.reserve(), b.reserve()
	sub, quiet := follow(t, b, a.id), follow(t, b, other.id)
	for _, change := range []func(){
		func() { a.claim() }, func() { a.commit(ask()) }, func() { a.input() }, func() { a.pause() },
		func() { a.resume() }, func() { a.cancel() },
	} {
		change()
		drain(t, sub.Signals())
	}
	require.NoError(t, b.Store.PublishFrame(b.ctx(), other.id, execution.Frame{Text: "first"}))
	require.NotNil(t, next(t, quiet.Signals()).Frame, "nothing came before")
}

func followFrame(t *testing.T, b *bench) {
	a := b.planned()
	one, two := follow(t, b, a.id), follow(t, b, a.id)
	frame := execution.Frame{Type: execution.FrameTextDelta, Step: 1, Text: "Booked \x00 ž"}
	b.unchanged(func() { require.NoError(t, b.Store.PublishFrame(b.ctx(), a.id, frame)) })
	require.Equal(t, &frame, next(t, one.Signals()).Frame)
	require.Equal(t, &frame, next(t, two.Signals()).Frame)
}

func followSlow(t *testing.T, b *bench) {
	a := b.planned()
	sub := follow(t, b, a.id)
	for range 2000 {
		require.NoError(t, b.Store.PublishFrame(b.ctx(), a.id, execution.Frame{Text: "x"}))
	}
	a.commit(goOn())
	for range 2000 {
		require.NoError(t, b.Store.PublishFrame(b.ctx(), a.id, execution.Frame{Text: "x"}))
	}
	drain(t, sub.Signals())
}

func followRequests(t *testing.T, b *bench) {
	a, paused := b.planned(), b.planned()
	sub, err := b.Store.FollowRequests(b.ctx(), a.row().Claim.Worker)
	require.NoError(t, err)
	defer func() { require.NoError(t, sub.Close()) }()
	other, err := b.Store.FollowRequests(b.ctx(), paused.row().Claim.Worker)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	a.cancel()
	require.Equal(t, a.id, next(t, sub.Requests()))
	paused.pause()
	require.Equal(t, paused.id, next(t, other.Requests()))
}

func followClose(t *testing.T, b *bench) {
	a := b.reserve()
	sub, err := b.Store.Follow(context.Background(), a.id)
	require.NoError(t, err)
	require.NoError(t, sub.Close())
	require.NoError(t, sub.Close())
	require.Eventually(t, func() bool {
		_, open := <-sub.Signals()
		return !open
	}, within, time.Millisecond)
	a.claim()
}
