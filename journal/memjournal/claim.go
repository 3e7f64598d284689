package memjournal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Claim implements journal.Steps. The guards stand in their order.
func (s *Store) Claim(ctx context.Context, q journal.ClaimRequest) (journal.Claimed, error) {
	if err := journal.CheckClaim(q); err != nil {
		return journal.Claimed{}, fail("claim", q.Execution, err)
	}
	now, unlock, err := s.lock(ctx, "claim", q.Execution)
	if err != nil {
		return journal.Claimed{}, err
	}
	defer unlock()
	r, err := s.row(q.Execution)
	if err != nil {
		return journal.Claimed{}, fail("claim", q.Execution, err)
	}
	if r.carried.nonce == q.Nonce { // the very same nonce: the reply was lost
		return journal.Claimed{}, fail("claim", q.Execution, r.carried.refused)
	}
	refused := refuseClaim(r, q, now)
	if refused == nil && r.live(now) { // the very same nonce: the reply was lost
		return s.claimed(r, q, now), nil
	}
	if refused == nil {
		refused = s.carryOut(r, q, now)
	}
	if refused != nil {
		return journal.Claimed{}, fail("claim", q.Execution, refused)
	}
	s.grant(r, q, now)
	return s.claimed(r, q, now), nil
}

// refuseClaim is every guard that leaves the row alone.
func refuseClaim(r *row, q journal.ClaimRequest, nowMs int64) *journal.ClaimRefused {
	switch {
	case !slices.Contains(journal.Allowed(journal.MoveClaim), r.State):
		return &journal.ClaimRefused{Reason: journal.ClaimState}
	case q.Step != nil && *q.Step < r.Step:
		return &journal.ClaimRefused{Reason: journal.ClaimStale}
	case q.Step != nil && *q.Step > r.Step:
		return &journal.ClaimRefused{Reason: journal.ClaimAhead}
	case r.live(nowMs):
		if nonceOf(r.Claim.Fence) == q.Nonce {
			return nil
		}
		return &journal.ClaimRefused{Reason: journal.ClaimBusy}
	case r.NotBeforeMs > nowMs:
		after := time.Duration(r.NotBeforeMs-nowMs) * time.Millisecond
		return &journal.ClaimRefused{Reason: journal.ClaimEarly, RetryAfter: after}
	case !r.Active:
		return &journal.ClaimRefused{Reason: journal.ClaimTurn}
	case r.Delegation.Intended():
		return &journal.ClaimRefused{Reason: journal.ClaimUndelegated}
	default:
		return nil
	}
}

// carryOut is what a claim does in place of granting: a recorded cancel, a recorded pause, quarantine.
func (s *Store) carryOut(r *row, q journal.ClaimRequest, nowMs int64) *journal.ClaimRefused {
	reclaim := r.Claim != nil
	var refused *journal.ClaimRefused
	switch {
	case r.CancelRequested:
		r.takeAway()
		refused = &journal.ClaimRefused{Reason: journal.ClaimEnded, Tasks: s.end(r, nowMs, canceled())}
	case r.PauseRequested:
		r.takeAway()
		s.suspend(r, nowMs, journal.PausedSuspension())
		refused = &journal.ClaimRefused{Reason: journal.ClaimPaused}
	case reclaim && q.MaxReclaims > 0 && r.Reclaims+1 > q.MaxReclaims:
		r.countReclaim()
		r.takeAway()
		s.suspend(r, nowMs, journal.QuarantineSuspension(r.Node, r.ReclaimWorkers))
		refused = &journal.ClaimRefused{Reason: journal.ClaimQuarantine}
	default:
		return nil
	}
	r.carried = carried{q.Nonce, refused}
	r.touch(nowMs)
	s.feed.changed(r)
	return refused
}

func (r *row) countReclaim() {
	r.Reclaims++
	r.ReclaimWorkers = append(slices.Clone(r.ReclaimWorkers), r.Claim.Worker)
}

// grant gives the claim.
func (s *Store) grant(r *row, q journal.ClaimRequest, nowMs int64) {
	r.reclaimed = r.Claim != nil
	if r.reclaimed {
		r.countReclaim()
		r.write(nowMs, journal.ReclaimedWarning(r.Claim.Worker, q.Worker))
	}
	r.counter++
	r.carried = carried{}
	r.Claim = &journal.Claim{
		Worker: q.Worker, Fence: journal.Fence(fmt.Sprintf("%d-%s", r.counter, q.Nonce)),
		ExpiresAtMs: nowMs + q.TTL.Milliseconds(),
	}
	r.State = execution.Running
	r.Wait, r.await = nil, nil
	if r.StartedAtMs == 0 {
		r.StartedAtMs = nowMs
		if r.deadline > 0 {
			r.DeadlineAtMs = nowMs + r.deadline.Milliseconds()
		}
		r.write(nowMs, execution.ExecutionStarted{})
		r.touch(nowMs)
	}
	r.place(indexDue, r.Claim.ExpiresAtMs)
	s.feed.changed(r)
}

// claimed is what the node needs.
func (s *Store) claimed(r *row, q journal.ClaimRequest, nowMs int64) journal.Claimed {
	row := r.snapshot()
	c := journal.Claimed{
		Execution: row.ForNode(), Fence: r.Claim.Fence, Reclaimed: r.reclaimed, NowMs: nowMs,
		Checkpoint: slices.Clone(r.checkpoints[len(r.checkpoints)-1].Data),
		Ledger:     r.entries(r.batch),
	}
	for request, payload := range r.inbox {
		c.Inbox = append(c.Inbox, journal.InboxEntry{RequestID: request, Payload: slices.Clone(payload)})
	}
	slices.SortFunc(c.Inbox, func(a, b journal.InboxEntry) int {
		return strings.Compare(string(a.RequestID), string(b.RequestID))
	})
	if r.readsHistory || q.History {
		history := s.history(r)
		c.Messages, c.HistoryLength = enough(page(history, q.KnownMessages, -1)), len(history)
	}
	return c
}

// enough cuts messages where their sum has reached what comes with a claim.
func enough(messages [][]byte) [][]byte {
	bytes := 0
	for i, message := range messages {
		if bytes >= journal.ClaimHistoryBytes {
			return messages[:i]
		}
		bytes += len(message)
	}
	return messages
}

// entries copies ledger entries in the order of calls; a call without entry gives one without state.
func (r *row) entries(calls []execution.CallID) []journal.LedgerEntry {
	out := make([]journal.LedgerEntry, 0, len(calls))
	for _, call := range calls {
		entry := journal.LedgerEntry{CallID: call}
		if stored := r.ledger[call]; stored != nil {
			entry = *stored
			entry.Intent, entry.Receipt = slices.Clone(entry.Intent), slices.Clone(entry.Receipt)
		}
		out = append(out, entry)
	}
	return out
}
