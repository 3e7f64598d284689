package executor

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Watch brings cancels to the nodes that run here: at once when the store's message arrives, and by reading the flags of
// all claims every 500 ms in one round trip, so that a lost message costs half a second. It returns when ctx ends. Run it
// once per Durable; without it a cancel waits for the next renewal.
func (d *Durable) Watch(ctx context.Context) error {
	for ctx.Err() == nil {
		subscription, err := d.cfg.Store.FollowRequests(ctx, d.worker)
		if err != nil {
			d.cfg.Logger.WarnContext(ctx, "cannot follow requests, reading them instead", "error", err)
		}
		d.watch(ctx, subscription)
	}
	return context.Cause(ctx)
}

// watch polls and listens until ctx ends. Without a subscription it ends after a while, for another try.
func (d *Durable) watch(ctx context.Context, subscription journal.RequestSubscription) {
	var requests <-chan execution.ID
	var again <-chan time.Time
	if subscription != nil {
		defer func() { _ = subscription.Close() }() // nothing more is expected from it
		requests = subscription.Requests()
	} else {
		timer := time.NewTimer(between(time.Second, 3*time.Second))
		defer timer.Stop()
		again = timer.C
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			return
		case id, ok := <-requests:
			if !ok {
				return
			}
			d.poll(ctx, d.holding(id))
		case <-ticker.C:
			d.poll(ctx, d.holding(""))
		}
	}
}

// poll reads what was recorded for the holders and ends the nodes that must end. A pause waits for the node in flight: the
// commit carries it out.
func (d *Durable) poll(ctx context.Context, holders []*holder) {
	if len(holders) == 0 {
		return
	}
	holds := make([]journal.Hold, len(holders))
	for i, h := range holders {
		holds[i] = journal.Hold{Execution: h.claimed.Execution.ID, Fence: h.claimed.Fence}
	}
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	found, err := d.cfg.Store.Requests(ctx, holds)
	if err != nil || len(found) != len(holders) {
		return // the renewals notice an outage
	}
	for i, request := range found {
		switch {
		case request.Superseded:
			holders[i].end(ErrFenced)
		case request.CancelRequested:
			holders[i].end(ErrUserCancel)
		}
	}
}

// holding lists the holders of an execution, or all of them.
func (d *Durable) holding(id execution.ID) []*holder {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []*holder
	for h := range d.holders {
		if id == "" || h.claimed.Execution.ID == id {
			out = append(out, h)
		}
	}
	return out
}
