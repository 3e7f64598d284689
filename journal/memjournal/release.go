package memjournal

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

const methodRenew = "renew"

// RenewAll implements journal.Renewals.
func (s *Store) RenewAll(ctx context.Context, holds []journal.Hold, ttl time.Duration) []journal.RenewAnswer {
	answers := make([]journal.RenewAnswer, len(holds))
	for i, hold := range holds {
		answers[i].Renewed, answers[i].Err = s.Renew(ctx, hold, ttl)
	}
	return answers
}

// Renew implements journal.Steps.
func (s *Store) Renew(ctx context.Context, h journal.Hold, ttl time.Duration) (journal.Renewed, error) {
	if err := journal.CheckTTL(ttl); err != nil {
		return journal.Renewed{}, fail(methodRenew, h.Execution, err)
	}
	n, unlock, err := s.hold(ctx, methodRenew, h)
	if err != nil {
		return journal.Renewed{}, err
	}
	defer unlock()
	r := n.row
	if n.replayed {
		return n.call.renewed, nil
	}
	if err := in(r, journal.MoveRenew); err != nil {
		return journal.Renewed{}, fail(methodRenew, h.Execution, err)
	}
	until := n.nowMs + ttl.Milliseconds()
	if r.CancelRequested { // a hung holder cannot keep the row open
		until = max(n.nowMs, min(until, r.cancelMs+s.cfg.CancelGrace.Milliseconds()))
	}
	claim := *r.Claim
	claim.ExpiresAtMs = until
	r.Claim = &claim
	if r.State == execution.Running {
		r.place(indexDue, until)
	}
	n.call.renewed = journal.Renewed{
		CancelRequested: r.CancelRequested, PauseRequested: r.PauseRequested,
		TTL: time.Duration(until-n.nowMs) * time.Millisecond,
	}
	r.lastCall = *n.call
	return n.call.renewed, nil
}

// Release implements journal.Steps.
func (s *Store) Release(ctx context.Context, q journal.Release) (journal.Committed, error) {
	const method = "release"
	if err := journal.CheckRelease(q); err != nil {
		return journal.Committed{}, fail(method, q.Execution, err)
	}
	n, unlock, err := s.hold(ctx, method, q.Hold)
	if err != nil {
		return journal.Committed{}, err
	}
	defer unlock()
	r := n.row
	if n.replayed {
		answer := n.call.committed
		answer.Replayed = true
		return answer, nil
	}
	if err := in(r, journal.MoveRelease); err != nil {
		return journal.Committed{}, fail(method, q.Execution, err)
	}
	r.Claim = nil
	r.unsend(q.Fence, q.Unsent)
	if q.Usage != nil {
		r.Usage = *q.Usage
	}
	tasks := s.handBack(r, q, n.nowMs)
	n.call.committed = journal.Committed{Step: r.Step, State: r.State, Sequence: r.LastSequence, Tasks: tasks}
	s.done(n, true)
	return n.call.committed, nil
}

// handBack carries out what a release asks for: a recorded cancel first, a recorded pause last.
func (s *Store) handBack(r *row, q journal.Release, nowMs int64) []execution.Task {
	switch {
	case r.CancelRequested:
		return s.end(r, nowMs, canceled())
	case q.Suspension != nil:
		s.suspend(r, nowMs, *q.Suspension)
		return nil
	case q.Retry != nil:
		s.retry(r, *q.Retry, nowMs)
	case !r.PauseRequested:
		return s.handOff(r, nowMs)
	}
	if r.PauseRequested {
		s.suspend(r, nowMs, journal.PausedSuspension())
	}
	return nil
}

// retry schedules the failed node again.
func (s *Store) retry(r *row, retry journal.Retry, nowMs int64) {
	r.Attempts++
	r.NotBeforeMs = nowMs + retry.After.Milliseconds()
	r.Wait = &execution.Wait{Kind: execution.WaitRetry, UntilMs: r.NotBeforeMs}
	event := journal.RetryEvent(retry)
	event.Attempt, event.AtMs = r.Attempts, r.NotBeforeMs
	r.write(nowMs, event)
	s.rest(r, nowMs)
}

// Requests implements journal.Steps.
func (s *Store) Requests(ctx context.Context, holds []journal.Hold) ([]journal.Request, error) {
	_, unlock, err := s.lock(ctx, "requests", "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := make([]journal.Request, len(holds))
	for i, h := range holds {
		r := s.rows[h.Execution]
		if r == nil || !r.holds(h.Fence) {
			out[i].Superseded = true
			continue
		}
		out[i] = journal.Request{CancelRequested: r.CancelRequested, PauseRequested: r.PauseRequested}
	}
	return out, nil
}
