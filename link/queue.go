package link

import (
	"context"
	"sync"

	"github.com/pawl-run/pawl/execution"
)

// What may wait for the reader of a stream; one item may, however large it is.
const (
	maxQueuedItems = 1024
	maxQueuedBytes = 1 << 20
)

// queue is what waits for the reader of one stream. Whoever fills it never blocks: a reader that is too slow loses the queue
// and is told to come back, so that it costs nobody memory.
type queue struct {
	wake chan struct{} // capacity 1: there is something to take, or an end

	mu    sync.Mutex
	items []queued
	bytes int
	err   error // why nothing comes behind items; nil: something may
}

type queued struct {
	item execution.StreamItem
	size int
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// push adds an item that the reader has not asked for.
func (q *queue) push(item execution.StreamItem, size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return
	}
	if n := len(q.items); n > 0 && (n >= maxQueuedItems || q.bytes+size > maxQueuedBytes) {
		q.items, q.bytes, q.err = nil, 0, tooSlow()
	} else {
		q.items = append(q.items, queued{item, size})
		q.bytes += size
	}
	q.poke()
}

// end says that nothing follows what waits, and why. The first reason counts.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
		q.poke()
	}
}

// poke wants the lock held.
func (q *queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default: // the reader will look
	}
}

// take gives the next item, or the end. Neither: there is nothing now.
func (q *queue) take() (item execution.StreamItem, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		return execution.StreamItem{}, false, q.err
	}
	first := q.items[0]
	q.items[0] = queued{}
	if q.items = q.items[1:]; len(q.items) == 0 {
		q.items = nil // what was taken is not kept
	}
	q.bytes -= first.size
	return first.item, true, nil
}

// wait returns when there may be something to take, or when a context ends.
func (q *queue) wait(ctx, stream context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-stream.Done():
		return stream.Err()
	case <-q.wake:
		return nil
	}
}

func tooSlow() error {
	return execution.NewAPIError(execution.Overloaded, "the stream is read too slowly: follow again from the last event")
}

// frameSize is about what a frame takes in memory.
func frameSize(frame *execution.Frame) int { return len(frame.Text) + 128 }

// add adds items that the reader has asked for.
func (q *queue) add(items []queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, items...)
	for _, one := range items {
		q.bytes += one.size
	}
}
