package executor

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/journal"
)

// renewTicks is how often within a claim's time the claims of the worker are looked through. A claim is renewed at the
// first look after a third of its time.
const renewTicks = 15

// renewal is what the renewals of a worker know of a holder; guarded by the holder's mu.
type renewal struct {
	due     time.Time
	busy    bool               // a renewal is on its way
	stopped bool               // no renewal may begin any more
	cancel  context.CancelFunc // ends the one that is on its way; nil when it has a round trip to itself
}

// stop ends the renewals of the claim.
func (h *holder) stop() {
	h.mu.Lock()
	h.renewal.stopped = true
	cancel := h.renewal.cancel
	h.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// arm makes the next look happen. One timer serves all claims of the worker, so that a short node costs none. The caller
// holds d.mu.
func (d *Durable) arm() {
	if d.armed || len(d.holders) == 0 {
		return
	}
	d.armed = true
	time.AfterFunc(d.cfg.ClaimTTL/renewTicks, func() {
		d.renewDue()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.armed = false
		d.arm()
	})
}

// renewDue begins the renewals of all claims that are due, in one round trip if the store can do that.
func (d *Durable) renewDue() {
	var due []*holder
	var holds []journal.Hold
	for _, h := range d.holding("") {
		if hold, ok := h.renewable(time.Now()); ok {
			due, holds = append(due, h), append(holds, hold)
		}
	}
	if len(due) == 0 {
		return
	}
	together, ok := d.cfg.Store.(journal.Renewals)
	if !ok || len(due) == 1 {
		for i, h := range due {
			go h.renewAlone(time.Now(), holds[i])
		}
		return
	}
	go d.renewTogether(together, due, holds)
}

// renewable says whether a renewal is due, and with what to ask; then one is on its way. What is canceled is not kept
// alive, so a node that does not return lets its claim run out.
func (h *holder) renewable(now time.Time) (journal.Hold, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.renewal
	if r.stopped || r.busy || now.Before(r.due) || h.node.Err() != nil {
		return journal.Hold{}, false
	}
	r.busy = true
	h.operation++
	return journal.Hold{Execution: h.claimed.Execution.ID, Fence: h.claimed.Fence, Operation: h.operation}, true
}

// renewTogether renews many claims. Those without an answer are tried again one by one, with the very same hold.
func (d *Durable) renewTogether(store journal.Renewals, due []*holder, holds []journal.Hold) {
	ttl, sent := d.cfg.ClaimTTL, time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), min(attemptTimeout, ttl/renewTicks))
	answers := store.RenewAll(ctx, holds, ttl)
	cancel()
	for i, h := range due {
		if unavailable(answers[i].Err) {
			go h.renewAlone(sent, holds[i])
			continue
		}
		h.renewed(sent, answers[i].Renewed, answers[i].Err)
	}
}

// renewAlone renews the claim, or ends the node when trust ends without an answer. sent is from before the hold was shown
// first: whichever try is answered, it may be the first one that moved the claim's end, and the others repeat its answer.
func (h *holder) renewAlone(sent time.Time, hold journal.Hold) {
	ctx, cancel := context.WithCancel(h.node)
	defer cancel()
	h.mu.Lock()
	stopped := h.renewal.stopped
	h.renewal.cancel = cancel
	h.mu.Unlock()
	if stopped {
		return
	}
	ttl := h.durable.cfg.ClaimTTL
	bounded, release := context.WithDeadline(ctx, h.trust.until())
	defer release()
	var renewed journal.Renewed
	err := repeat(bounded, h.trust.until(), func(ctx context.Context) (err error) {
		renewed, err = h.durable.cfg.Store.Renew(ctx, hold, ttl)
		return err
	})
	if unavailable(err) {
		h.waitForTrust(ctx)
	}
	h.renewed(sent, renewed, err)
}

// renewed takes the store's answer to a renewal, unless the claim has been handed back meanwhile.
func (h *holder) renewed(sent time.Time, renewed journal.Renewed, err error) {
	h.mu.Lock()
	h.renewal.busy, h.renewal.cancel = false, nil
	h.renewal.due = sent.Add(h.durable.cfg.ClaimTTL / 3)
	over := h.renewal.stopped || h.node.Err() != nil
	h.mu.Unlock()
	switch {
	case over:
	case err == nil && renewed.CancelRequested:
		h.end(ErrUserCancel)
	case err == nil:
		h.trust.extend(sent, renewed.TTL)
	case unavailable(err):
		h.end(ErrTrustEnded)
	default:
		h.end(ErrFenced)
		if !errors.Is(err, journal.ErrFenced) {
			h.durable.cfg.Logger.ErrorContext(h.node, "renewal refused", "execution", h.claimed.Execution.ID,
				"step", h.claimed.Execution.Step, "fence", h.claimed.Fence, "error", err)
		}
	}
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
