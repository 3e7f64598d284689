package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// backoff is the pause after a failed attempt, numbered from 1: full jitter over a doubling window, on top of what the
// API asked for, so that many clients do not come back at the same moment.
func (c *Client) backoff(attempt int, err error) time.Duration {
	window := c.cfg.MaxBackoff
	if shift := attempt - 1; shift < 20 {
		window = min(window, c.cfg.MinBackoff<<shift)
	}
	wait := time.Duration(rand.Int64N(int64(window) + 1))
	var api *execution.APIError
	if errors.As(err, &api) {
		wait += api.RetryAfter
	}
	return wait
}

// pause waits, or returns ctx's error when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
