package linktest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func eventPages(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Warnings(5)
	w.Complete("done")
	want := Log(t, h.Store, id)
	require.Len(t, want, 8)
	var got []execution.Event
	for after, more := execution.Sequence(0), true; more; {
		page, err := h.Local().Events(bounded(t), id, after, 3)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Events), 3)
		got = append(got, page.Events...)
		after, more = page.NextAfter, page.HasMore
	}
	require.Equal(t, want, got)
	page, err := h.Local().Events(bounded(t), id, 8, 1_000_000)
	require.NoError(t, err)
	require.Equal(t, execution.EventPage{Events: []execution.Event{}, NextAfter: 8}, page)
}

func eventPagesByBytes(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	text := strings.Repeat("x", 1<<20)
	for range 9 {
		w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.Warning{Code: "big", Message: text})
	}
	w.Complete("done")
	var got []execution.Event
	pages := 0
	for after, more := execution.Sequence(0), true; more; pages++ {
		page, err := h.Local().Events(bounded(t), id, after, 1000)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Events), 6)
		got = append(got, page.Events...)
		after, more = page.NextAfter, page.HasMore
	}
	require.Equal(t, Log(t, h.Store, id), got)
	require.Equal(t, 3, pages)
}

func eventRefusals(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	for _, limit := range []int{0, -1} {
		_, err := h.Local().Events(bounded(t), id, 0, limit)
		Refused(t, err, execution.InvalidRequest, "limit")
	}
	for _, after := range []execution.Sequence{2, 1 << 60} {
		_, err := h.Local().Events(bounded(t), id, after, 10)
		Refused(t, err, execution.Conflict, "after")
	}
}

func waitForState(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	ctx := bounded(t)
	answered := make(chan execution.View, 1)
	go func() {
		view, err := h.Local().Wait(ctx, id, 0, time.Minute)
		if err == nil {
			answered <- view
		}
		close(answered)
	}()
	w.Warnings(3) // another version, the same state
	w.Complete("done")
	view := <-answered
	require.Equal(t, execution.Completed, view.State)
	require.Equal(t, "done", view.Outcome.Answer)
}

func waitForVersion(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	known, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	ctx := bounded(t)
	answered := make(chan execution.View, 1)
	go func() {
		view, err := h.Local().Wait(ctx, id, known.Version, time.Minute)
		if err == nil {
			answered <- view
		}
		close(answered)
	}()
	w.Warnings(1)
	view := <-answered
	require.Greater(t, view.Version, known.Version)
	require.Equal(t, execution.Running, view.State)
	again, err := h.Local().Wait(bounded(t), id, known.Version, time.Minute)
	require.NoError(t, err, "a version that has passed is no reason to wait")
	require.Greater(t, again.Version, known.Version)
}

func waitEnds(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	view, err := h.Local().Wait(bounded(t), id, 0, 20*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, execution.Queued, view.State)
	Claim(t, h.Store, id).Complete("done")
	view, err = h.Local().Wait(bounded(t), id, view.Version+100, time.Minute)
	require.NoError(t, err)
	require.Equal(t, execution.Completed, view.State)
	_, err = h.Local().Wait(bounded(t), id, 0, -time.Second)
	Refused(t, err, execution.InvalidRequest, "wait")
}

// collect reads a stream to its end.
func collect(ctx context.Context, stream execution.Stream) ([]execution.Event, error) {
	var events []execution.Event
	for {
		item, err := stream.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return events, nil
		case err != nil:
			return events, err
		case item.Event != nil:
			events = append(events, *item.Event)
		}
	}
}

func followAll(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Warnings(150) // more than a page of a follower
	ctx := bounded(t)
	stream, err := h.Local().Follow(ctx, id, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	first, err := stream.Next(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, first.Event.Sequence)
	done := make(chan []execution.Event, 1)
	go func() {
		defer close(done)
		if events, err := collect(ctx, stream); err == nil {
			done <- events
		}
	}()
	w.Warnings(20)
	w.Complete("done")
	require.Equal(t, Log(t, h.Store, id), append([]execution.Event{*first.Event}, <-done...))
}

func followFromCursors(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Warnings(4)
	w.Complete("done")
	want := Log(t, h.Store, id)
	for after := range want {
		ctx := bounded(t)
		stream, err := h.Local().Follow(ctx, id, execution.Sequence(after))
		require.NoError(t, err)
		got, err := collect(ctx, stream)
		require.NoError(t, err)
		require.Equal(t, want[after:], got)
		require.NoError(t, stream.Close())
	}
}

func followFrames(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	Claim(t, h.Store, id)
	ctx := bounded(t)
	stream, err := h.Local().Follow(ctx, id, 2)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	frame := execution.Frame{Type: execution.FrameTextDelta, Step: 3, Text: "He\nllo"}
	require.NoError(t, sent(h.Store.PublishFrame(ctx, id, frame)))
	item, err := stream.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, execution.StreamItem{Frame: &frame}, item)
}

func followKeepsPlace(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	ctx := bounded(t)
	stream, err := h.Local().Follow(ctx, id, 2)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for range 20 {
		_, err := stream.Next(ended)
		require.ErrorIs(t, err, context.Canceled)
	}
	w.Warnings(1)
	item := execution.StreamItem{}
	require.Eventually(t, func() bool {
		item, err = stream.Next(ended) // a hint that such a call meets must not be lost
		if errors.Is(err, context.Canceled) {
			brief, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			item, err = stream.Next(brief)
		}
		return err == nil && item.Event != nil
	}, deadline, time.Millisecond)
	require.EqualValues(t, 3, item.Event.Sequence)
}

func followNothingLeft(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	Claim(t, h.Store, id).Complete("done")
	last := execution.Sequence(len(Log(t, h.Store, id)))
	ctx := bounded(t)
	stream, err := h.Local().Follow(ctx, id, last)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	for range 2 {
		_, err = stream.Next(ctx)
		require.ErrorIs(t, err, io.EOF)
	}
}

func followRefusals(t *testing.T, h Harness) {
	_, err := h.Local().Follow(bounded(t), execution.NewID(3), 0)
	require.ErrorIs(t, err, execution.ErrNotFound)
	id := submit(t, h.Local())
	for _, after := range []execution.Sequence{2, 1 << 60} {
		_, err = h.Local().Follow(bounded(t), id, after)
		Refused(t, err, execution.Conflict, "after")
	}
}

func closeLeavesAlone(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	unchanged(t, h, func() {
		ctx, cancel := context.WithCancel(bounded(t))
		stream, err := h.Local().Follow(ctx, id, 0)
		require.NoError(t, err)
		_, err = stream.Next(ctx)
		require.NoError(t, err)
		cancel()
		require.NoError(t, stream.Close())
	})
	w.Commit(journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "on its own"}})
	view, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, execution.Completed, view.State)
}
