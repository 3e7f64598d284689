package client

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// FollowAll streams the events and frames, from now on, of the executions that the caller may see. It does not come back
// from a break, because it could not say what was missed: a connection that breaks ends it with ErrUnavailable, and an end
// by the API, which drops readers that are too slow, with ErrOverloaded. WatchAll does come back.
func (c *Client) FollowAll(ctx context.Context) (execution.Stream, error) {
	return c.FollowAllTypes(ctx)
}

// FollowAllTypes is FollowAll for the events and frames of these types only. None are all.
func (c *Client) FollowAllTypes(ctx context.Context, types ...string) (execution.Stream, error) {
	h, _, err := c.followAll(ctx, types)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// held is how many items of a stream of everything wait for their reader here, before the API sees that it is slow.
const held = 1024

// followAll says too when the API opened the stream, by its clock.
func (c *Client) followAll(ctx context.Context, types []string) (*handover, time.Time, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	connection, err := c.openFirst(ctx, "/v1/events", typesQuery(types), "")
	if err != nil {
		cancel(nil)
		return nil, time.Time{}, err
	}
	h := newHandover(cancel, held)
	go h.all(ctx, connection)
	return h, connection.opened, nil
}

// all hands over what the connection brings, to its end.
func (h *handover) all(ctx context.Context, c *connection) {
	defer close(h.done)
	defer h.cancel(nil)
	defer c.close()
	for {
		item, err := c.next()
		if err == nil {
			if item.Event == nil && item.Frame == nil {
				continue
			}
			err = h.give(ctx, item.StreamItem)
		}
		if err == nil {
			continue
		}
		const then = "list what was updated since, and follow again"
		switch {
		case ctx.Err() != nil:
			h.err = context.Cause(ctx)
		case errors.Is(err, errMalformed):
			h.err = execution.NewAPIError(execution.Internal, "the stream cannot be read").Because(err)
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			h.err = execution.NewAPIError(execution.Overloaded, "the API ended the stream: "+then)
		default:
			h.err = execution.NewAPIError(execution.Unavailable, "the stream broke: "+then).Because(err)
		}
		return
	}
}
