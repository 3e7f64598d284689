package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// maxWait is how long the API waits at most in one call.
const maxWait = time.Minute

// Wait returns the view when the execution changes or has ended, or after d, at most a minute; see link.RuntimeLink.
func (c *Client) Wait(
	ctx context.Context, id execution.ID, version uint64, d time.Duration,
) (execution.View, error) {
	query := url.Values{"wait": {d.String()}}
	if version != 0 {
		query.Set("version", strconv.FormatUint(version, 10))
	}
	return c.view(ctx, call{
		method: http.MethodGet, path: executionPath(id, ""), query: query, repeat: true, longer: min(d, maxWait),
	})
}

// WaitUntil waits until done is true of the execution's view, or it has ended, and returns the view. done is asked at once
// and after each change; nil waits for the end. It waits for as long as ctx lasts, also while the API is away; what the API
// refuses is returned at once.
func (c *Client) WaitUntil(
	ctx context.Context, id execution.ID, done func(execution.View) bool,
) (execution.View, error) {
	var view execution.View
	for failures := 0; ; {
		newer, err := c.newer(ctx, id, view.Version)
		switch {
		case err == nil && (ended(newer) || done != nil && done(newer)):
			return newer, nil
		case err == nil:
			view, failures = newer, 0
			continue
		case ctx.Err() != nil:
			return view, context.Cause(ctx)
		case !passing(err):
			return view, err
		}
		failures++
		if pause(ctx, c.backoff(failures, err)) != nil {
			return view, context.Cause(ctx)
		}
	}
}

// newer is a view that is newer than a version, or the one there is after a while; at once when none is known yet.
func (c *Client) newer(ctx context.Context, id execution.ID, version uint64) (execution.View, error) {
	if version == 0 {
		return c.Execution(ctx, id)
	}
	return c.Wait(ctx, id, version, maxWait)
}

// ended knows the terminal states of later releases too.
func ended(view execution.View) bool { return view.State.Terminal() || view.EndedAtMs != 0 }
