package journaltest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func feedClauses() []clause {
	return []clause{
		{name: "whoever follows an execution is told that it changed, and nobody else", run: followChange},
		{name: "a change says which events it wrote", run: followSequences},
		{name: "signals come in the order in which they were sent", run: followOrder},
		{name: "whoever follows all executions is told of each", run: followEverything},
		{name: "whoever follows all and is too slow is told that something is missing", run: followEverythingSlow},
		{name: "last sequences are read for many executions at once", run: lastSequences},
		{name: "a page says whose execution it is", run: pageCaller},
		{name: "frames reach those who follow now and are kept nowhere", run: followFrame},
		{name: "whoever sends a frame learns whether somebody listens", run: frameListeners},
		{name: "a slow follower loses frames, never the fact that something changed", run: followSlow},
		{name: "a worker is told of cancels and pauses recorded for what it holds", run: followRequests},
		{name: "a closed subscription closes its channel, once", run: followClose},
	}
}

// within is how long a signal may take.
const within = time.Minute

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
	require.NoError(t, sent(b.Store.PublishFrame(b.ctx(), other.id, execution.Frame{Text: "first"})))
	require.NotNil(t, next(t, quiet.Signals()).Frame, "nothing came before")
}

func followSequences(t *testing.T, b *bench) {
	a := b.reserve()
	sub := follow(t, b, a.id)
	told := execution.Sequence(1) // it was written before anybody followed
	for _, change := range []func(){
		func() { a.claim() }, func() { a.commit(goOn()) }, func() { a.claim() }, func() { a.commit(ask()) },
		func() { a.input() }, func() { a.pause() }, func() { a.resume() }, func() { a.cancel() },
	} {
		change()
		last := a.row().LastSequence
		for told < last {
			signal := next(t, sub.Signals())
			require.False(t, signal.Missed)
			if signal.Last == 0 {
				require.Zero(t, signal.First)
				continue
			}
			require.Equal(t, told+1, signal.First)
			told = signal.Last
		}
		require.Equal(t, last, told)
	}
}

func followOrder(t *testing.T, b *bench) {
	a := b.planned()
	sub := follow(t, b, a.id)
	before := a.row().LastSequence
	require.NoError(t, sent(b.Store.PublishFrame(b.ctx(), a.id, execution.Frame{Text: "before"})))
	_, err := b.Store.AppendEvent(b.ctx(), a.next(), execution.Warning{Code: "x", Message: "y"})
	require.NoError(t, err)
	require.NoError(t, sent(b.Store.PublishFrame(b.ctx(), a.id, execution.Frame{Text: "behind"})))
	require.Equal(t, "before", next(t, sub.Signals()).Frame.Text)
	require.Equal(t, journal.Signal{First: before + 1, Last: before + 1}, next(t, sub.Signals()))
	require.Equal(t, "behind", next(t, sub.Signals()).Frame.Text)
}

func followEverything(t *testing.T, b *bench) {
	sub, err := b.Store.FollowAll(b.ctx())
	require.NoError(t, err)
	defer func() { require.NoError(t, sub.Close()) }()
	frame := execution.Frame{Type: execution.FrameTextDelta, Text: "Booked"}
	want := map[execution.ID]execution.Sequence{}
	var last *actor
	for range 3 {
		last = b.reserve()
		last.claim()
		want[last.id] = last.row().LastSequence
	}
	require.NoError(t, sent(b.Store.PublishFrame(b.ctx(), last.id, frame)))
	got := map[execution.ID]execution.Sequence{}
	for {
		signal := next(t, sub.Signals())
		require.False(t, signal.Missed)
		if signal.Frame != nil {
			require.Equal(t, last.id, signal.Execution)
			require.Equal(t, frame, *signal.Frame)
			break
		}
		if signal.Last > 0 {
			require.Equal(t, got[signal.Execution]+1, signal.First)
			got[signal.Execution] = signal.Last
		}
	}
	require.Equal(t, want, got)
	require.NoError(t, sub.Close())
	require.Eventually(t, func() bool {
		_, open := <-sub.Signals()
		return !open
	}, within, time.Millisecond)
}

func followEverythingSlow(t *testing.T, b *bench) {
	sub, err := b.Store.FollowAll(b.ctx())
	require.NoError(t, err)
	defer func() { require.NoError(t, sub.Close()) }()
	a := b.planned()
	text := strings.Repeat("x", 16<<10)
	for range 3000 { // more than any store holds for one receiver
		require.NoError(t, sent(b.Store.PublishFrame(b.ctx(), a.id, execution.Frame{Text: text})))
	}
	for range 3000 {
		if next(t, sub.Signals()).Missed {
			return
		}
	}
	require.Fail(t, "nothing was said to be missing")
}

func lastSequences(t *testing.T, b *bench) {
	ids := []execution.ID{execution.NewID(thePartition)}
	want := []execution.Sequence{0}
	for i := range 5 {
		a := b.reserve()
		if i%2 == 0 {
			a.claim()
		}
		ids, want = append(ids, a.id), append(want, a.row().LastSequence)
	}
	got, err := b.Store.LastSequences(b.ctx(), ids)
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = b.Store.LastSequences(b.ctx(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func pageCaller(t *testing.T, b *bench) {
	a := b.reserve(func(e *journal.NewExecution) {
		e.Caller = execution.CallerScope{Tenant: "acme", Subject: "ann"}
	})
	for _, limit := range []int{0, 10} {
		page, err := b.Store.EventPage(b.ctx(), a.id, 0, limit)
		require.NoError(t, err)
		require.Equal(t, execution.CallerScope{Tenant: "acme", Subject: "ann"}, page.Caller)
		require.Len(t, page.Events, min(limit, 1))
	}
}

func followFrame(t *testing.T, b *bench) {
	a := b.planned()
	one, two := follow(t, b, a.id), follow(t, b, a.id)
	frame := execution.Frame{Type: execution.FrameTextDelta, Step: 1, Text: "Booked \x00 ž"}
	b.unchanged(func() { require.NoError(t, sent(b.Store.PublishFrame(b.ctx(), a.id, frame))) })
	require.Equal(t, &frame, next(t, one.Signals()).Frame)
	require.Equal(t, &frame, next(t, two.Signals()).Frame)
}

func frameListeners(t *testing.T, b *bench) {
	a, other := b.planned(), b.planned()
	frame := execution.Frame{Type: execution.FrameTextDelta, Text: "x"}
	listeners := func(a *actor) int {
		n, err := b.Store.PublishFrame(b.ctx(), a.id, frame)
		require.NoError(t, err)
		return n
	}
	require.Zero(t, listeners(a))
	sub := follow(t, b, a.id)
	require.Equal(t, 1, listeners(a))
	require.Zero(t, listeners(other))
	require.NoError(t, sub.Close())
	require.Eventually(t, func() bool { return listeners(a) == 0 }, within, time.Millisecond)
	wide, err := b.Store.FollowAll(b.ctx())
	require.NoError(t, err)
	require.Equal(t, 1, listeners(other))
	require.NoError(t, wide.Close())
}

func followSlow(t *testing.T, b *bench) {
	a := b.planned()
	sub := follow(t, b, a.id)
	for range 2000 {
		require.NoError(t, sent(b.Store.PublishFrame(b.ctx(), a.id, execution.Frame{Text: "x"})))
	}
	a.commit(goOn())
	for range 2000 {
		require.NoError(t, sent(b.Store.PublishFrame(b.ctx(), a.id, execution.Frame{Text: "x"})))
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

// sent is the error of a frame's sending.
func sent(_ int, err error) error { return err }
