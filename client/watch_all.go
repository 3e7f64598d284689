package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// WatchAll follows the executions that the caller may see, for as long as ctx lasts: it yields their events that occur at
// since or later, each once and those of one execution in their order, and the frames of the moment. The zero since is now.
// Types leave out the others; none are all. An event that cannot be read is yielded whatever the types. When the stream breaks, or the API ends it because the reader was too slow, it
// opens another, lists what was updated meanwhile and reads on in their logs.
//
// It remembers how far it has read each execution that has not ended. An error is the last pair: what the API refuses, and
// ErrUnavailable when it cannot be reached at first. Leaving the loop closes the stream.
func (c *Client) WatchAll(
	ctx context.Context, since time.Time, types ...string,
) iter.Seq2[execution.StreamItem, error] {
	return func(yield func(execution.StreamItem, error) bool) {
		w := &allWatcher{client: c, types: types, yield: yield, seen: make(map[execution.ID]read)}
		if !since.IsZero() {
			w.startMs = since.UnixMilli()
			w.newestMs = w.startMs
		}
		if err := w.run(ctx); err != nil && !errors.Is(err, errLeft) {
			yield(execution.StreamItem{}, err)
		}
	}
}

// errLeft: the reader left the loop.
var errLeft = errors.New("the reader has gone")

// lookBack is how much earlier than the newest event the listing after a break begins: instants of two executions may be
// those of two clocks.
const lookBack = 15 * time.Second

// allWatcher is one WatchAll. It belongs to its reader's goroutine.
type allWatcher struct {
	client *Client
	types  []string
	yield  func(execution.StreamItem, error) bool

	startMs  int64 // nothing before it is yielded; 0 until the first stream is open
	newestMs int64 // when the newest event that was read occurred
	seen     map[execution.ID]read
	kept     int // how many are in seen after it was cleared up
}

// read is how far an execution was read.
type read struct {
	sequence execution.Sequence
	endedMs  int64 // its last event was read
}

func (w *allWatcher) run(ctx context.Context) error {
	for failures, catchUp := 0, w.startMs != 0; ; catchUp = true {
		progress, err := w.once(ctx, catchUp)
		switch {
		case errors.Is(err, errLeft): // whatever has become of ctx
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !passing(err), w.startMs == 0:
			return err
		case progress:
			failures = 0
		}
		failures++
		if pause(ctx, w.client.backoff(failures, err)) != nil {
			return context.Cause(ctx)
		}
	}
}

// once reads one stream to its end, after what came before it.
func (w *allWatcher) once(ctx context.Context, catchUp bool) (progress bool, err error) {
	stream, opened, err := w.client.followAll(ctx, w.types)
	if err != nil {
		return false, err
	}
	defer func() { _ = stream.Close() }() // a stream's Close never fails
	if w.startMs == 0 {
		w.startMs = opened.UnixMilli()
		w.newestMs = w.startMs
	}
	if catchUp {
		if err := w.catchUp(ctx); err != nil {
			return false, err
		}
	}
	for {
		item, err := stream.Next(ctx)
		if err == nil {
			err = w.take(ctx, item)
		}
		if err != nil {
			return progress, err
		}
		progress = true
	}
}

// take yields an item of the stream, and before it what the stream has left out.
func (w *allWatcher) take(ctx context.Context, item execution.StreamItem) error {
	if item.Event == nil {
		if !w.yield(item, nil) {
			return errLeft
		}
		return nil
	}
	last, known := w.seen[item.Execution]
	if known && len(w.types) == 0 && item.Event.Sequence > last.sequence+1 {
		if err := w.readOn(ctx, item.Execution); err != nil {
			return err
		}
	}
	return w.event(item.Execution, *item.Event)
}

// catchUp yields what happened since the newest event that was read.
func (w *allWatcher) catchUp(ctx context.Context) error {
	since := w.newestMs - lookBack.Milliseconds()
	for view, err := range w.client.All(ctx, execution.ListQuery{UpdatedSinceMs: max(since, 1), Limit: pageSize}) {
		if err == nil {
			err = w.readOn(ctx, view.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readOn yields what the log of an execution has behind what was read.
func (w *allWatcher) readOn(ctx context.Context, id execution.ID) error {
	for event, err := range w.client.AllEvents(ctx, id, w.seen[id].sequence) {
		if errors.Is(err, execution.ErrNotFound) {
			return nil // it was deleted meanwhile
		}
		if err == nil {
			err = w.event(id, event)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// event yields an event that was not read before, unless it is too old or of another type.
func (w *allWatcher) event(id execution.ID, event execution.Event) error {
	last := w.seen[id]
	if event.Sequence <= last.sequence {
		return nil
	}
	last.sequence = event.Sequence
	if terminal(event.Payload) {
		last.endedMs = event.OccurredAtMs
	}
	w.seen[id] = last
	w.newestMs = max(w.newestMs, event.OccurredAtMs)
	w.clearUp()
	if w.wanted(&event) && !w.yield(execution.StreamItem{Execution: id, Event: &event}, nil) {
		return errLeft
	}
	return nil
}

// wanted reports whether an event is of the types that are watched and new enough. One that cannot be read may be of any, and
// when it says no time, of any time.
func (w *allWatcher) wanted(event *execution.Event) bool {
	of := event.Payload.EventType()
	if of == execution.TypeUnreadable {
		return event.OccurredAtMs == 0 || event.OccurredAtMs >= w.startMs
	}
	return event.OccurredAtMs >= w.startMs && (len(w.types) == 0 || slices.Contains(w.types, string(of)))
}

// clearUp forgets executions that ended too long ago to be listed after a break.
func (w *allWatcher) clearUp() {
	if len(w.seen) < 2*w.kept+held {
		return
	}
	for id, last := range w.seen {
		if last.endedMs != 0 && last.endedMs < w.newestMs-2*lookBack.Milliseconds() {
			delete(w.seen, id)
		}
	}
	w.kept = len(w.seen)
}
