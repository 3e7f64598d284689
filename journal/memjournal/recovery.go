package memjournal

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Sweep implements journal.Recovery.
func (s *Store) Sweep(ctx context.Context, p execution.Partition, limit int) ([]journal.Due, error) {
	now, unlock, err := s.lock(ctx, "sweep", "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if s.cfg.SweepLock > 0 && s.sweptUntil[p] > now {
		return nil, nil
	}
	var found []journal.Due
	for id, r := range s.rows {
		if id.Partition() == p && r.atMs <= now {
			found = append(found, s.due(r, now))
		}
	}
	for member, key := range s.keys {
		if key.partition == p && key.lookAtMs <= now {
			found = append(found, journal.Due{
				Partition: p, Member: member, Index: indexPurge, AtMs: key.lookAtMs, NowMs: now, Action: journal.ActKey,
			})
		}
	}
	if len(found) < limit { // after a full page the same reaper comes again at once
		s.sweptUntil[p] = now + s.cfg.SweepLock.Milliseconds()
	}
	slices.SortFunc(found, func(a, b journal.Due) int {
		return cmp.Or(cmp.Compare(rank(a.Index), rank(b.Index)), cmp.Compare(a.AtMs, b.AtMs), cmp.Compare(a.Member, b.Member))
	})
	return found[:max(0, min(limit, len(found)))], nil
}

// rank orders the indexes: neither a backlog nor a purge wave can starve recovery.
func rank(index string) int { return slices.Index([]string{indexDue, indexHandoff, indexPurge}, index) }

// due is a row's entry as a sweep sees it.
func (s *Store) due(r *row, nowMs int64) journal.Due {
	d := journal.Due{
		Partition: r.ID.Partition(), Member: string(r.ID), Index: r.index, AtMs: r.atMs, NowMs: nowMs,
		Action: r.action(nowMs),
	}
	if d.Action == journal.ActStanding {
		d.SinceMs = r.runnableMs
	}
	if d.Action == journal.ActStanding || d.Action == journal.ActRequeue {
		d.Task = r.task(nowMs)
	}
	return d
}

// action is what a reaper must do about the row's entry.
func (r *row) action(nowMs int64) journal.DueAction {
	late := r.DeadlineAtMs != 0 && r.DeadlineAtMs <= nowMs
	switch {
	case r.index == indexPurge:
		return journal.ActPurge
	case r.index == indexHandoff:
		return journal.ActStanding
	case r.CancelRequested && r.Claim == nil: // its parent has ended
		return journal.ActExpire
	case r.State != execution.Queued && r.State != execution.Running:
		return journal.ActExpire
	case r.Claim != nil:
		return journal.ActRequeue
	case !r.Active, r.Delegation.Intended(), late && r.Wait != nil, r.Wait != nil && r.NotBeforeMs == 0:
		return journal.ActExpire
	default:
		return journal.ActRequeue
	}
}

// seen finds the row if its entry is still due as it was seen.
func (s *Store) seen(d journal.Due, nowMs int64) *row {
	r := s.rows[execution.ID(d.Member)]
	if r == nil || r.index != d.Index || r.atMs != d.AtMs || r.atMs > nowMs {
		return nil
	}
	return r
}

// Requeue implements journal.Recovery. The fence stays: a late holder may still commit until somebody claims.
func (s *Store) Requeue(ctx context.Context, d journal.Due) (journal.Requeued, error) {
	now, unlock, err := s.lock(ctx, "requeue", execution.ID(d.Member))
	if err != nil {
		return journal.Requeued{}, err
	}
	defer unlock()
	r := s.seen(d, now)
	if r == nil || in(r, journal.MoveRequeue) != nil || r.Wake != d.Task.Wake || !r.Active ||
		r.live(now) || r.NotBeforeMs > now {
		return journal.Requeued{}, nil
	}
	var tasks []execution.Task
	if r.CancelRequested {
		r.takeAway()
		tasks = s.end(r, now, canceled())
		r.touch(now)
		s.feed.changed(r)
	} else {
		wait := r.Wait // what the view shows changes with the claim
		tasks = s.handOff(r, now)
		r.Wait = wait
	}
	return journal.Requeued{Moved: true, State: r.State, Tasks: tasks}, nil
}

// Postpone implements journal.Recovery.
func (s *Store) Postpone(ctx context.Context, d journal.Due, delay time.Duration) error {
	now, unlock, err := s.lock(ctx, "postpone", execution.ID(d.Member))
	if err != nil {
		return err
	}
	defer unlock()
	at := now + delay.Milliseconds()
	if r := s.seen(d, now); r != nil {
		r.place(r.index, at)
	} else if key := s.keys[d.Member]; key != nil && key.lookAtMs == d.AtMs {
		key.lookAtMs = at
	}
	return nil
}

// Expire implements journal.Recovery.
func (s *Store) Expire(ctx context.Context, d journal.Due) (journal.Requeued, error) {
	now, unlock, err := s.lock(ctx, "expire", execution.ID(d.Member))
	if err != nil {
		return journal.Requeued{}, err
	}
	defer unlock()
	r := s.seen(d, now)
	if r == nil || r.action(now) != journal.ActExpire {
		return journal.Requeued{}, nil
	}
	tasks, acted := s.expire(r, now)
	if !acted {
		s.rest(r, now)
	}
	return journal.Requeued{Moved: true, State: r.State, Tasks: tasks}, nil
}

// expire does what was to happen; acted is false when the row is merely looked at.
func (s *Store) expire(r *row, nowMs int64) (tasks []execution.Task, acted bool) {
	late := r.DeadlineAtMs != 0 && r.DeadlineAtMs <= nowMs && r.State != execution.Finalizing
	switch {
	case r.CancelRequested && r.Claim == nil && r.State != execution.Finalizing: // its parent has ended
		tasks = s.end(r, nowMs, canceled())
	case late:
		tasks = s.end(r, nowMs, failed(journal.DeadlineFailure()))
	case r.State == execution.WaitingForInput && r.PendingInteraction.ExpiresAtMs != 0 &&
		r.PendingInteraction.ExpiresAtMs <= nowMs:
		return s.expireInteraction(r, nowMs), true
	case r.State == execution.Queued && r.Delegation.Intended() && s.delegatedBy(r) <= nowMs:
		tasks = s.end(r, nowMs, failed(journal.DelegationFailure()))
	case r.State == execution.Suspended && s.suspendedUntil(r) <= nowMs:
		tasks = s.end(r, nowMs, failed(journal.SuspensionFailure()))
	case r.State == execution.Finalizing && r.restMs+s.cfg.CleanupTimeout.Milliseconds() <= nowMs:
		r.takeAway()
		r.write(nowMs, journal.CleanupWarning())
		tasks = s.end(r, nowMs, r.kept())
	default:
		return nil, false
	}
	r.touch(nowMs)
	s.feed.changed(r)
	return tasks, true
}

func (s *Store) expireInteraction(r *row, nowMs int64) (tasks []execution.Task) {
	pending := r.PendingInteraction
	switch pending.OnExpiry {
	case execution.ExpireFail:
		tasks = s.end(r, nowMs, failed(journal.InteractionFailure()))
	case execution.ExpireSuspend:
		pending.ExpiresAtMs = 0 // whoever resumes it has all the time
		r.Wait = &execution.Wait{Kind: r.Wait.Kind}
		s.suspend(r, nowMs, journal.InteractionExpiredSuspension())
	default:
		r.write(nowMs, execution.InteractionReceived{RequestID: pending.RequestID})
		return s.answer(r, nowMs, pending.RequestID, journal.ExpiredPayload(pending.RequestID))
	}
	r.touch(nowMs)
	s.feed.changed(r)
	return tasks
}

// Purge implements journal.Recovery.
func (s *Store) Purge(ctx context.Context, d journal.Due) error {
	now, unlock, err := s.lock(ctx, "purge", execution.ID(d.Member))
	if err != nil {
		return err
	}
	defer unlock()
	if key := s.keys[d.Member]; key != nil && d.Action == journal.ActKey {
		switch {
		case key.lookAtMs != d.AtMs || key.lookAtMs > now:
		case key.gone:
			delete(s.keys, d.Member)
		default: // its row is there: it goes with the row
			key.lookAtMs = now + s.cfg.Retention.Milliseconds()
		}
		return nil
	}
	r := s.seen(d, now)
	if r == nil || in(r, journal.MovePurge) != nil {
		return nil
	}
	if until := s.keptUntil(r); until > now {
		r.place(indexPurge, until)
		return nil
	}
	s.erase(r)
	for member, key := range s.keys {
		if key.execution == r.ID {
			delete(s.keys, member)
		}
	}
	return nil
}
