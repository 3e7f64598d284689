package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// Watch is Follow as a sequence: it yields events and frames and ends after the terminal event. Types leave out the others,
// as with FollowTypes. An error is the last pair. Leaving the loop closes the stream.
func (c *Client) Watch(
	ctx context.Context, id execution.ID, after execution.Sequence, types ...string,
) iter.Seq2[execution.StreamItem, error] {
	return func(yield func(execution.StreamItem, error) bool) {
		stream, err := c.FollowTypes(ctx, id, after, types...)
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
// be reached at first, in several attempts, it is ErrUnavailable.
func (c *Client) Follow(
	ctx context.Context, id execution.ID, after execution.Sequence,
) (execution.Stream, error) {
	return c.FollowTypes(ctx, id, after)
}

// FollowTypes is Follow for the events and frames of these types only, such as "tool_completed" and "text_delta", and the
// terminal event; events that cannot be read come too. None are all.
func (c *Client) FollowTypes(
	ctx context.Context, id execution.ID, after execution.Sequence, types ...string,
) (execution.Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &follower{handover: newHandover(cancel, 0), client: c, id: id, query: typesQuery(types), after: after}
	connection, err := c.openFirst(ctx, executionPath(id, "/events"), f.query, formatSequence(after))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	go f.run(ctx, connection)
	return f, nil
}

func typesQuery(types []string) url.Values {
	if len(types) == 0 {
		return nil
	}
	return url.Values{"types": {strings.Join(types, ",")}}
}

// follower is one stream over as many connections as it takes.
type follower struct {
	*handover
	client *Client
	id     execution.ID
	query  url.Values // not nil: some types only, and the sequences have gaps

	// owned by run
	after execution.Sequence // the last sequence that was handed over, or passed by what is left out
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
		switch {
		case item.Event == nil && item.Frame == nil:
			if f.query != nil && item.passed > f.after {
				f.after, progress = item.passed, true
			}
			continue
		case item.Event == nil:
		case item.Event.Sequence <= f.after:
			continue // sent again
		case item.Event.Sequence > f.after+1 && f.query == nil:
			return false, progress, errGap
		default:
			f.after = item.Event.Sequence
		}
		progress = true
		if err := f.give(ctx, item.StreamItem); err != nil {
			return false, progress, err
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
	return f.client.open(ctx, executionPath(f.id, "/events"), f.query, formatSequence(f.after))
}
