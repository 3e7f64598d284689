package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Watch is Follow as a sequence: it yields events and frames and ends after the terminal event. An error is the last
// pair. Leaving the loop closes the stream.
func (c *Client) Watch(
	ctx context.Context, id execution.ID, after execution.Sequence,
) iter.Seq2[execution.StreamItem, error] {
	return func(yield func(execution.StreamItem, error) bool) {
		stream, err := c.Follow(ctx, id, after)
		if err != nil {
			yield(execution.StreamItem{}, err)
			return
		}
		defer func() { _ = stream.Close() }() // a stream's Close never fails
		for {
			item, err := stream.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// Follow streams an execution's events with a sequence above after, each once, and frames. It opens the stream anew
// when the connection breaks, ends without the terminal event or falls silent, for as long as ctx lasts. It returns
// what the API refuses (ErrNotFound, ErrForbidden, ErrConflict for an after beyond the log) at once; when the API cannot
// be reached at first it is ErrUnavailable.
func (c *Client) Follow(
	ctx context.Context, id execution.ID, after execution.Sequence,
) (execution.Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &follower{
		client: c, id: id, after: after,
		items: make(chan execution.StreamItem), done: make(chan struct{}), cancel: cancel,
	}
	connection, err := f.connect(ctx)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	go f.run(ctx, connection)
	return f, nil
}

// errClosed is the end of a stream that its owner closed.
var errClosed = errors.New("stream closed")

// follower is one stream over as many connections as it takes.
type follower struct {
	client *Client
	id     execution.ID
	cancel context.CancelCauseFunc
	items  chan execution.StreamItem
	done   chan struct{} // closed when run has returned; err is set before
	err    error
	once   sync.Once

	// owned by run
	after execution.Sequence // the last sequence that was handed over
}

// Next implements execution.Stream.
func (f *follower) Next(ctx context.Context) (execution.StreamItem, error) {
	select {
	case item := <-f.items:
		return item, nil
	case <-ctx.Done():
		return execution.StreamItem{}, ctx.Err()
	case <-f.done:
		return execution.StreamItem{}, f.err
	}
}

// Close implements execution.Stream. It returns when the stream's goroutine has.
func (f *follower) Close() error {
	f.once.Do(func() { f.cancel(errClosed) })
	<-f.done
	return nil
}

// run reads connections until the terminal event, a final error or the end of ctx.
func (f *follower) run(ctx context.Context, c *connection) {
	defer close(f.done)
	defer f.cancel(nil)
	for failures := 0; ; {
		ended, progress, err := f.drain(ctx, c)
		if ended {
			f.err = io.EOF
			return
		}
		if errors.Is(err, errMalformed) {
			f.err = execution.NewAPIError(execution.Internal, "the stream cannot be read").Because(err)
			return
		}
		if progress {
			failures = 0
		}
		for c = nil; c == nil; {
			failures++
			if pause(ctx, f.client.backoff(failures, err)) != nil {
				f.err = context.Cause(ctx)
				return
			}
			if c, err = f.connect(ctx); err != nil && !passing(err) {
				f.err = err
				if ctx.Err() != nil {
					f.err = context.Cause(ctx)
				}
				return
			}
		}
	}
}

// drain hands over what one connection brings. ended says that the terminal event was among it, or that the API had
// nothing left to send; progress, that anything was.
func (f *follower) drain(ctx context.Context, c *connection) (ended, progress bool, err error) {
	defer c.close()
	if c.nothingLeft {
		return true, false, nil
	}
	for {
		item, err := c.next()
		if err != nil {
			return false, progress, err
		}
		if item.Event != nil {
			switch {
			case item.Event.Sequence <= f.after:
				continue // sent again
			case item.Event.Sequence > f.after+1:
				return false, progress, errGap
			}
			f.after = item.Event.Sequence
		}
		progress = true
		select {
		case f.items <- item:
		case <-ctx.Done():
			return false, progress, ctx.Err()
		}
		if item.Event != nil && terminal(item.Event.Payload) {
			return true, progress, nil
		}
	}
}

// errGap: the connection left out an event. The next one begins where this one broke off.
var errGap = errors.New("the stream left out an event")

func terminal(payload execution.Payload) bool {
	switch payload.EventType() {
	case execution.TypeExecutionCompleted, execution.TypeExecutionFailed, execution.TypeExecutionCanceled:
		return true
	default:
		return false
	}
}

// connect opens the stream behind the last event that was handed over.
func (f *follower) connect(ctx context.Context) (*connection, error) {
	cursor := formatSequence(f.after)
	streamCtx, cancel := context.WithCancel(ctx)
	idle := 3 * f.client.cfg.Heartbeat
	watchdog := time.AfterFunc(idle, cancel)
	answer, err := f.client.send(streamCtx, call{
		method: http.MethodGet, path: executionPath(f.id, "/events"),
		header: http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {cursor}},
	}, nil)
	if err != nil {
		watchdog.Stop()
		cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	c := newConnection(answer, cancel, idle, watchdog)
	if answer.StatusCode >= http.StatusBadRequest {
		defer c.close()
		return nil, decode(answer, nil)
	}
	return c, nil
}
