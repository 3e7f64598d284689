package client

import (
	"context"
	"errors"
	"sync"

	"github.com/pawl-run/pawl/execution"
)

// errClosed is the end of a stream that its owner closed.
var errClosed = errors.New("stream closed")

// handover is the reader's end of a stream: one goroutine gives, another one takes. It implements execution.Stream.
type handover struct {
	cancel context.CancelCauseFunc // ends the goroutine that gives
	items  chan execution.StreamItem
	done   chan struct{} // closed when that goroutine has returned; err is set before
	err    error
	once   sync.Once
}

// newHandover holds at most so many items that were given and not yet taken.
func newHandover(cancel context.CancelCauseFunc, holds int) *handover {
	return &handover{cancel: cancel, items: make(chan execution.StreamItem, holds), done: make(chan struct{})}
}

// give waits until the item is taken.
func (h *handover) give(ctx context.Context, item execution.StreamItem) error {
	select {
	case h.items <- item:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Next implements execution.Stream.
func (h *handover) Next(ctx context.Context) (execution.StreamItem, error) {
	select {
	case item := <-h.items:
		return item, nil
	case <-ctx.Done():
		return execution.StreamItem{}, ctx.Err()
	case <-h.done:
	}
	select {
	case item := <-h.items: // what was given before the end comes before it
		return item, nil
	default:
		return execution.StreamItem{}, h.err
	}
}

// Close implements execution.Stream. It returns when the stream's goroutine has.
func (h *handover) Close() error {
	h.once.Do(func() { h.cancel(errClosed) })
	<-h.done
	return nil
}
