package executor

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/journal"
)

// renew keeps the claim until ctx ends, which is when the node ends or is ended: what is canceled is not kept alive, so a node that does not
// return lets its claim run out.
func (h *holder) renew(ctx context.Context) {
	ttl := h.durable.cfg.ClaimTTL
	timer := time.NewTimer(ttl / 3)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !h.renewOnce(ctx, ttl) {
			return
		}
		timer.Reset(ttl / 3)
	}
}

// renewOnce renews the claim, or ends the node: by the cause the store gave, or when trust ends without an answer.
func (h *holder) renewOnce(ctx context.Context, ttl time.Duration) bool {
	hold := h.hold()
	bounded, cancel := context.WithDeadline(ctx, h.trust.until())
	defer cancel()
	var (
		renewed journal.Renewed
		sent    time.Time
	)
	err := repeat(bounded, h.trust.until(), func(ctx context.Context) (err error) {
		sent = time.Now()
		renewed, err = h.durable.cfg.Store.Renew(ctx, hold, ttl)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return false
	case err == nil:
		h.trust.extend(sent, renewed.TTL)
	case unavailable(err):
		h.waitForTrust(ctx)
		h.end(ErrTrustEnded)
	default:
		h.end(ErrFenced)
		if !errors.Is(err, journal.ErrFenced) {
			h.durable.cfg.Logger.ErrorContext(ctx, "renewal refused", "execution", hold.Execution, "error", err)
		}
	}
	if renewed.CancelRequested {
		h.end(ErrUserCancel)
	}
	return err == nil && !renewed.CancelRequested
}

// waitForTrust waits for the end of trust: the last attempt may have ended a moment before it.
func (h *holder) waitForTrust(ctx context.Context) {
	timer := time.NewTimer(time.Until(h.trust.until()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
