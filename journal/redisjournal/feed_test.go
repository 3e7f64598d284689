package redisjournal

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

const signalTimeout = time.Minute

func changed(t *testing.T, sub journal.Subscription) {
	t.Helper()
	deadline := time.After(signalTimeout)
	for {
		select {
		case signal, ok := <-sub.Signals():
			require.True(t, ok)
			if signal.Frame == nil {
				return
			}
		case <-deadline:
			t.Fatal("no signal")
		}
	}
}

func TestFollowersOfAnotherStoreSeeEveryChange(t *testing.T) {
	t.Parallel()
	w := open(t)
	other, err := New(redistest.Shared(t).Client(t), w.cfg)
	require.NoError(t, err)
	id := w.reserve()
	sub, err := other.Follow(w.ctx(), id)
	require.NoError(t, err)
	c := w.claim(id, "n1")
	changed(t, sub)
	w.commit(c, journal.Then{Kind: journal.ThenContinue})
	changed(t, sub)
	require.NoError(t, sent(w.store.PublishFrame(w.ctx(), id, execution.Frame{Type: execution.FrameTextDelta, Text: "{x}"})))
	select {
	case signal := <-sub.Signals():
		require.Equal(t, "{x}", signal.Frame.Text)
	case <-time.After(signalTimeout):
		t.Fatal("no frame")
	}
	require.NoError(t, sub.Close())
	_, open := <-sub.Signals()
	require.False(t, open)
	require.NoError(t, sub.Close(), "closing twice is fine")
	require.NoError(t, other.Close())
	_, err = other.Follow(w.ctx(), id)
	require.ErrorIs(t, err, journal.ErrUnavailable)
}

func TestASlowReceiverLosesFramesAndNeverTheChange(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	sub, err := w.store.Follow(w.ctx(), id)
	require.NoError(t, err)
	for range 3 * maxQueuedFrames {
		require.NoError(t, sent(w.store.PublishFrame(w.ctx(), id, execution.Frame{Type: execution.FrameTextDelta, Text: "x"})))
	}
	w.claim(id, "n1")
	changed(t, sub)
	require.NoError(t, sub.Close())
}

func TestAMessageSaysWhatWasWritten(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]journal.Signal{
		"":                                 {Missed: true},
		"0":                                {},
		"changed":                          {Missed: true},
		"7 1":                              {First: 7, Last: 7},
		"7 3":                              {First: 5, Last: 7},
		"2 3":                              {Missed: true},
		"7 0":                              {Missed: true},
		"7 x":                              {Missed: true},
		"{":                                {Missed: true},
		`{"type":"text_delta","text":"a"}`: {Frame: &execution.Frame{Type: execution.FrameTextDelta, Text: "a"}},
	} {
		require.Equal(t, want, decodeSignal(message), message)
	}
}

func TestChangesBetweenLostFramesBecomeOne(t *testing.T) {
	t.Parallel()
	sub := &subscription{}
	for i := range 2 * maxQueuedFrames {
		sub.add(journal.Signal{Frame: &execution.Frame{}})
		at := execution.Sequence(i + 1)
		sub.add(journal.Signal{First: at, Last: at})
		sub.add(journal.Signal{})
	}
	require.LessOrEqual(t, len(sub.queue), 2*maxQueuedFrames+1)
	var read execution.Sequence
	for signal, ok := sub.next(); ok; signal, ok = sub.next() {
		if signal.Frame == nil {
			require.Equal(t, read+1, signal.First)
			read = signal.Last
		}
	}
	require.EqualValues(t, 2*maxQueuedFrames, read)
	require.Zero(t, sub.frames)
}

func TestAFollowerOfAllIsToldWhenTheConnectionBroke(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := openOn(t, server.Client(t))
	id := w.reserve()
	narrow, err := w.store.Follow(w.ctx(), id)
	require.NoError(t, err)
	wide, err := w.store.FollowAll(w.ctx())
	require.NoError(t, err)
	require.NoError(t, w.rdb.Do(w.ctx(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	signal := <-wide.Signals()
	require.Equal(t, journal.WideSignal{Signal: journal.Signal{Missed: true}}, signal)
	changed(t, narrow)
	w.claim(id, "n1")
	require.Equal(t, journal.WideSignal{Execution: id, Signal: journal.Signal{First: 2, Last: 2}}, <-wide.Signals())
	require.NoError(t, wide.Close())
	require.NoError(t, narrow.Close())
}

func TestAfterAReconnectEverybodyIsToldToLook(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := openOn(t, server.Client(t))
	id := w.reserve()
	sub, err := w.store.Follow(w.ctx(), id)
	require.NoError(t, err)
	require.NoError(t, w.rdb.Do(w.ctx(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	changed(t, sub)
	w.claim(id, "n1")
	changed(t, sub)
	require.NoError(t, sub.Close())
}

func TestTheHolderHearsOfCancelAndPause(t *testing.T) {
	t.Parallel()
	w := open(t)
	sub, err := w.store.FollowRequests(w.ctx(), "w1")
	require.NoError(t, err)
	id := w.reserve()
	c := w.claim(id, "n1")
	hear := func() {
		select {
		case got := <-sub.Requests():
			require.Equal(t, id, got)
		case <-time.After(signalTimeout):
			t.Fatal("no request")
		}
	}
	pause, err := w.store.Pause(w.ctx(), id)
	require.NoError(t, err)
	require.True(t, pause.Pending)
	hear()
	cancel, err := w.store.Cancel(w.ctx(), id)
	require.NoError(t, err)
	require.True(t, cancel.Pending)
	hear()
	hold := journal.Hold{Execution: id, Fence: c.Fence}
	requests, err := w.store.Requests(w.ctx(), []journal.Hold{hold, {Execution: id, Fence: "0-x"}, {Execution: "exec_x"}})
	require.NoError(t, err)
	require.Equal(t, []journal.Request{
		{CancelRequested: true, PauseRequested: true}, {Superseded: true}, {Superseded: true},
	}, requests)
	require.NoError(t, sub.Close())
}

func TestFollowGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := openOn(t, server.Client(t))
	id := execution.NewID(1)
	server.Pause()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := w.store.Follow(ctx, id)
	server.Resume()
	require.ErrorIs(t, err, journal.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	sub, err := w.store.Follow(w.ctx(), id)
	require.NoError(t, err)
	require.NoError(t, sub.Close())
}

func TestManyFollowersShareOneConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := openOn(t, server.Client(t))
	var subs []journal.Subscription
	for i := range 100 {
		sub, err := w.store.Follow(w.ctx(), execution.NewID(execution.Partition(i%4)))
		require.NoError(t, err)
		subs = append(subs, sub)
	}
	clients, err := w.rdb.Do(w.ctx(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	require.NoError(t, err)
	require.Regexp(t, `^[^\n]+\n$`, clients)
	for _, sub := range subs {
		require.NoError(t, sub.Close())
	}
	require.Eventually(t, func() bool { // nobody waits for the confirmation of an UNSUBSCRIBE
		channels, err := w.rdb.PubSubChannels(w.ctx(), w.cfg.Prefix+":feed:*").Result()
		return err == nil && len(channels) == 0
	}, signalTimeout, 5*time.Millisecond)
}

// sent is the error of a frame's sending.
func sent(_ int, err error) error { return err }

// Followers, of one execution and of all, are on a connection to one server, and hear what is written on any.
func TestOnAClusterTheFeedOfEveryServerIsHeard(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartCluster(t).Client(t)
	store, err := New(rdb, Config{Prefix: redistest.Prefix()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	wide, err := store.FollowAll(ctx)
	require.NoError(t, err)
	var ids []execution.ID
	told := make(map[execution.ID]int)
	for p := execution.Partition(0); p < execution.Partitions; p += 4 {
		reserved, err := store.Reserve(ctx, newExecution(p))
		require.NoError(t, err)
		id := reserved.Execution.ID
		sub, err := store.Follow(ctx, id)
		require.NoError(t, err)
		require.NoError(t, sent(store.PublishFrame(ctx, id, execution.Frame{Type: execution.FrameTextDelta, Text: "x"})))
		select {
		case signal := <-sub.Signals():
			for signal.Frame == nil { // of the reservation
				signal = <-sub.Signals()
			}
			require.Equal(t, "x", signal.Frame.Text)
		case <-ctx.Done():
			t.Fatal("no frame")
		}
		require.NoError(t, sub.Close())
		ids = append(ids, id)
		told[id] = 2 // what was written, and a frame
	}
	for len(told) > 0 {
		select {
		case signal := <-wide.Signals():
			require.False(t, signal.Missed)
			if told[signal.Execution]--; told[signal.Execution] == 0 {
				delete(told, signal.Execution)
			}
		case <-ctx.Done():
			t.Fatalf("nothing of %d executions", len(told))
		}
	}
	require.NoError(t, wide.Close())
	lasts, err := store.LastSequences(ctx, ids)
	require.NoError(t, err)
	for i := range ids {
		require.EqualValues(t, 1, lasts[i])
	}
}
