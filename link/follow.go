package link

import (
	"context"
	"io"

	"github.com/pawl-run/pawl/execution"
)

// readPage bounds what one read of the log brings.
const readPage = 100

// Follow implements RuntimeLink.
func (l *session) Follow(
	ctx context.Context, id execution.ID, after execution.Sequence,
) (execution.Stream, error) {
	row, err := l.see(ctx, "follow", id)
	if err != nil {
		return nil, err
	}
	f := &follower{service: l.service, id: id, ctx: ctx, after: after, last: row.LastSequence, queue: newQueue()}
	if !row.State.Terminal() {
		if err := f.enter(); err != nil {
			return nil, err
		}
	}
	if after > f.last { // the log may have grown, or never have been that long
		if err := f.read(ctx); err != nil {
			_ = f.Close() // the read's error is the one that matters
			return nil, err
		}
	}
	f.join() // at once if it can: it misses no frame
	return f, nil
}

// enter goes to the execution's hub. A new one begins where the log ends, or with what its first stream wants of it.
func (f *follower) enter() (err error) {
	first := f.last
	if f.after <= first && first-f.after <= readPage {
		first = f.after
	}
	if f.hub, err = f.service.hubs.enter(f.ctx, f.id, first); err != nil {
		return err
	}
	f.last, _ = f.hub.stands()
	return nil
}

// follower is one stream of an execution. Behind the others it reads the log by itself, as fast as its reader takes it; then
// it joins them, and is handed what comes. Of an execution that has ended it reads the rest.
type follower struct {
	service *Service
	id      execution.ID
	hub     *hub            // nil: the execution has ended
	ctx     context.Context // of the stream
	queue   *queue

	// The last sequence in queue. Owned by the goroutine that calls Next, and by the hub once joined.
	after  execution.Sequence
	last   execution.Sequence // where the log ended when the stream was opened
	joined bool               // owned by the goroutine that calls Next
	closed bool               // the same
}

// Next implements execution.Stream.
func (f *follower) Next(ctx context.Context) (execution.StreamItem, error) {
	for {
		item, ok, err := f.queue.take()
		if ok || err != nil {
			return item, err
		}
		switch {
		case f.joined:
			err = f.queue.wait(ctx, f.ctx)
		case !f.join():
			err = f.read(ctx)
		}
		if err != nil {
			return execution.StreamItem{}, err
		}
	}
}

// join makes the stream one that reads nothing by itself any more, if it has read enough.
func (f *follower) join() bool {
	switch {
	case f.hub != nil:
		f.joined = f.hub.join(f)
	case f.after >= f.last:
		f.joined = true
		f.finish()
	}
	return f.joined
}

// read takes the next page for this stream alone.
func (f *follower) read(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	page, err := f.service.page(ctx, f.id, f.after, readPage)
	if err != nil {
		return err
	}
	items, err := measured(page.Events)
	if err != nil {
		return f.service.problem(ctx, "events "+string(f.id), err)
	}
	f.queue.add(items)
	if n := len(items); n > 0 {
		f.after = items[n-1].item.Event.Sequence
	}
	return nil
}

// push takes an event from the hub, which holds its lock; one that the stream has is no news.
func (f *follower) push(one queued) {
	if one.item.Event.Sequence > f.after {
		f.after = one.item.Event.Sequence
		f.queue.push(one.item, one.size)
	}
}

// finish ends the stream behind what waits.
func (f *follower) finish() { f.queue.end(io.EOF) }

// Close implements execution.Stream.
func (f *follower) Close() error {
	if !f.closed {
		f.closed = true
		if f.hub != nil {
			f.hub.leave(f)
		}
	}
	return nil
}
