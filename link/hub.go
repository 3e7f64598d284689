package link

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// What a hub keeps of the log's end, so that a stream which joins, or comes back, needs no reading of its own.
const (
	maxRecentEvents = 2 * readPage
	maxRecentBytes  = 64 << 10
)

// subscribeTimeout bounds how long a stream waits for the subscription that it needs.
const subscribeTimeout = 10 * time.Second

// hub follows one execution for all of its streams in this process: it reads what was written once, whenever a hint comes, and
// hands it to each. Its subscription is in force, and it has read once, before the first stream sees it.
type hub struct {
	hubs  *hubs
	id    execution.ID
	users int // guarded by hubs.mu
	end   context.CancelFunc
	look  chan struct{} // capacity 1: the log may be longer than what was read

	ready chan struct{} // closed when the hub can be joined, or has failed
	err   error         // why it failed; set before ready is closed

	mu      sync.Mutex // guards what follows
	streams map[*follower]struct{}
	recent  []queued // events, the last one being last
	bytes   int      // of recent
	last    execution.Sequence
	ended   bool  // the terminal event was read
	final   error // nothing more can be read
	answer  answer
}

// run reads until ctx ends or nothing more can be read. The log is read from the first sequence on.
func (h *hub) run(ctx context.Context, first execution.Sequence) {
	h.last = first
	// Subscribe, then read: what is written after the read is announced.
	bounded, cancel := context.WithTimeout(ctx, subscribeTimeout)
	subscription, err := h.hubs.service.cfg.Journal.Follow(bounded, h.id)
	cancel()
	if err != nil {
		h.fail(h.hubs.service.problem(ctx, "follow "+string(h.id), err))
		return
	}
	defer func() { _ = subscription.Close() }() // nothing more is expected of it
	if err := h.read(ctx); err != nil {
		h.fail(err)
		return
	}
	close(h.ready)
	h.follow(ctx, subscription.Signals())
}

// fail ends a hub that nobody could join.
func (h *hub) fail(err error) {
	h.err = err
	h.hubs.forget(h)
	close(h.ready)
}

func (h *hub) follow(ctx context.Context, signals <-chan journal.Signal) {
	var again <-chan time.Time
	for {
		unread := false
		select {
		case <-ctx.Done():
			return
		case <-h.look:
			unread = true
		case <-again:
			unread = true
		case signal, open := <-signals:
			if !open {
				signals = nil // closed early: the hubs' look goes on
				continue
			}
			unread = h.take(signal)
		}
		if !unread {
			continue
		}
		err := h.read(ctx)
		if err != nil && !errors.Is(err, execution.ErrUnavailable) {
			h.finish(err)
			return
		}
		if again = nil; err != nil { // it stays unread until a read succeeds
			again = time.After(h.hubs.service.cfg.Reread)
		}
	}
}

// take hands a frame on. It reports whether the log is to be read.
func (h *hub) take(signal journal.Signal) (unread bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if signal.Frame == nil {
		return signal.Missed || signal.Last > h.last
	}
	frame, news := h.answer.add(*signal.Frame)
	if !news {
		return false
	}
	for f := range h.streams {
		f.queue.push(execution.StreamItem{Frame: &frame}, frameSize(&frame))
	}
	return false
}

// read takes what the log has behind the last event that was read.
func (h *hub) read(ctx context.Context) error {
	for {
		page, err := h.hubs.service.page(ctx, h.id, h.last, readPage)
		if err != nil {
			return err
		}
		items, err := measured(page.Events)
		if err != nil {
			return h.hubs.service.problem(ctx, "events "+string(h.id), err)
		}
		if h.add(items, page) {
			return nil
		}
	}
}

// measured is each event as an item with its size.
func measured(events []execution.Event) ([]queued, error) {
	items := make([]queued, len(events))
	for i := range events {
		data, err := events[i].MarshalJSON()
		if err != nil {
			return nil, err
		}
		items[i] = queued{execution.StreamItem{Event: &events[i]}, len(data)}
	}
	return items, nil
}

// add hands events on. It reports whether the end of the log was reached.
func (h *hub) add(items []queued, page journal.EventPage) (reached bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range items {
		h.last = one.item.Event.Sequence
		h.answer.note(one.item.Event.Payload)
		h.keep(one)
		for f := range h.streams {
			f.push(one)
		}
	}
	reached = h.last >= page.Last || len(items) == 0
	if reached && page.State.Terminal() {
		h.ended = true
		for f := range h.streams {
			f.finish()
		}
	}
	return reached
}

// keep wants the lock held.
func (h *hub) keep(one queued) {
	h.recent, h.bytes = append(h.recent, one), h.bytes+one.size
	n := 0
	for len(h.recent)-n > maxRecentEvents || h.bytes > maxRecentBytes && n < len(h.recent) {
		h.bytes -= h.recent[n].size
		n++
	}
	if n > 0 {
		h.recent = append([]queued(nil), h.recent[n:]...)
	}
}

// join makes a stream one of those that are handed what comes, if what was kept reaches back to where it stands.
func (h *hub) join(f *follower) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.after < h.last && (len(h.recent) == 0 || h.recent[0].item.Event.Sequence > f.after+1) {
		return false
	}
	for _, one := range h.recent {
		f.push(one)
	}
	if snapshot := h.answer.snapshot(); snapshot != nil {
		f.queue.push(execution.StreamItem{Frame: snapshot}, frameSize(snapshot))
	}
	switch {
	case h.ended:
		f.finish()
	case h.final != nil:
		f.queue.end(h.final)
	}
	h.streams[f] = struct{}{}
	return true
}

func (h *hub) leave(f *follower) {
	h.mu.Lock()
	delete(h.streams, f)
	h.mu.Unlock()
	h.hubs.leave(h)
}

// finish ends every stream with an error; they may be followed again.
func (h *hub) finish(err error) {
	h.hubs.forget(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.final = err
	for f := range h.streams {
		f.queue.end(err)
	}
}

func (h *hub) inMidAnswer() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.answer.frame.InvocationID != ""
}

// stands is the last sequence that was read, and whether nothing will follow it.
func (h *hub) stands() (last execution.Sequence, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, h.ended || h.final != nil
}
