package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/pawl-run/pawl/execution"
)

// Events returns a page of an execution's log. The payload of an event that this release does not know is an
// *execution.UnknownEvent, that of one that the API cannot read an *execution.UnreadableEvent.
func (c *Client) Events(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (execution.EventPage, error) {
	query := url.Values{"after": {formatSequence(after)}, "limit": {strconv.Itoa(limit)}}
	var read struct {
		Events    []json.RawMessage  `json:"events"`
		NextAfter execution.Sequence `json:"nextAfter"`
		HasMore   bool               `json:"hasMore"`
	}
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: executionPath(id, "/events"), query: query, repeat: true,
	}, &read)
	if err != nil {
		return execution.EventPage{}, err
	}
	page := execution.EventPage{
		Events: make([]execution.Event, len(read.Events)), NextAfter: read.NextAfter, HasMore: read.HasMore,
	}
	for i, data := range read.Events {
		if page.Events[i], err = execution.ReadEvent(data); err != nil {
			return execution.EventPage{}, execution.NewAPIError(execution.Internal, "the answer cannot be read").Because(err)
		}
	}
	return page, nil
}

// AllEvents is Events page by page to the end of the log as it is now, as a sequence; it does not wait for more. An error is
// the last pair.
func (c *Client) AllEvents(
	ctx context.Context, id execution.ID, after execution.Sequence,
) iter.Seq2[execution.Event, error] {
	return pages(func() ([]execution.Event, bool, error) {
		page, err := c.Events(ctx, id, after, pageSize)
		after = page.NextAfter
		return page.Events, page.HasMore, err
	})
}

// Stream is the execution's events from the first one up to the terminal one, as a sequence that waits for those to come:
//
//	for event, err := range c.Stream(ctx, id) { … }
//
// It outlives broken connections and restarts of the API, for as long as ctx lasts. An error is the last pair. Leaving the
// loop closes the stream. Watch gives frames too, and begins behind any event.
func (c *Client) Stream(ctx context.Context, id execution.ID) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		for item, err := range c.Watch(ctx, id, 0) {
			switch {
			case err != nil:
				yield(execution.Event{}, err)
				return
			case item.Event != nil && !yield(*item.Event, nil):
				return
			}
		}
	}
}
