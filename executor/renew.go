package executor

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/journal"
)

// renew keeps the claim until the node ends or is ended: what is canceled is not kept alive, so a node that does not
// return lets its claim run out.
func (h *holder) renew() {
	ttl := h.durable.cfg.ClaimTTL
	timer := time.NewTimer(ttl / 3)
	defer timer.Stop()
	for {
		select {
		case <-h.kept.Done():
			return
		case <-h.node.Done():
			return
		case <-timer.C:
		}
		if !h.renewOnce(ttl) {
			return
		}
		timer.Reset(ttl / 3)
	}
}

// renewOnce renews the claim, or ends the node: by the cause the store gave, or when trust ends without an answer.
func (h *holder) renewOnce(ttl time.Duration) bool {
	hold := h.hold()
	ctx, cancel := context.WithDeadline(h.kept, h.trust.until())
	defer cancel()
	var (
		renewed journal.Renewed
		sent    time.Time
	)
	err := repeat(ctx, h.trust.until(), func(ctx context.Context) (err error) {
		sent = time.Now()
		renewed, err = h.durable.cfg.Store.Renew(ctx, hold, ttl)
		return err
	})
	switch {
	case h.kept.Err() != nil:
		return false
	case err == nil:
		h.trust.extend(sent, renewed.TTL)
	case unavailable(err):
		h.waitForTrust()
		h.end(ErrTrustEnded)
	default:
		h.end(ErrFenced)
		if !errors.Is(err, journal.ErrFenced) {
			h.durable.cfg.Logger.Error("renewal refused", "execution", hold.Execution, "error", err)
		}
	}
	if renewed.CancelRequested {
		h.end(ErrUserCancel)
	}
	return err == nil && !renewed.CancelRequested
}

// waitForTrust waits for the end of trust: the last attempt may have ended a moment before it.
func (h *holder) waitForTrust() {
	timer := time.NewTimer(time.Until(h.trust.until()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.kept.Done():
	case <-h.node.Done():
	}
}
