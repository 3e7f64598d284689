package memjournal

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Delegate implements journal.Commands.
func (s *Store) Delegate(ctx context.Context, id execution.ID, delegation journal.Delegation) (journal.Change, error) {
	const method = "delegate"
	if err := journal.CheckDelegation(delegation); err != nil {
		return journal.Change{}, fail(method, id, err)
	}
	return s.command(ctx, method, id, func(r *row, now int64) (journal.Change, error) {
		if r.Delegation != nil && r.Delegation.LeaseRef == delegation.LeaseRef {
			return journal.Change{Tasks: r.standing(now)}, nil
		}
		if err := in(r, journal.MoveDelegate); err != nil {
			return journal.Change{}, err
		}
		if r.Delegation == nil {
			return journal.Change{}, fmt.Errorf("%w: reserved without a delegation", journal.ErrState)
		}
		if !r.Delegation.Intended() {
			return journal.Change{}, fmt.Errorf("%w: another delegation", journal.ErrConflict)
		}
		delegation.CleanupComplete = false
		r.Delegation = &delegation
		if r.Wait != nil && r.Wait.Kind == execution.WaitAuth {
			r.Wait = nil
		}
		change := journal.Change{Changed: true}
		switch {
		case r.State != execution.Queued:
		case !r.Active:
			s.rest(r, now)
		default:
			if change.Tasks = s.begin(r, now); len(change.Tasks) > 0 {
				r.place(indexHandoff, now+s.cfg.HandoffGrace.Milliseconds())
			}
		}
		return change, nil
	})
}

// RefuseDelegation implements journal.Commands.
func (s *Store) RefuseDelegation(ctx context.Context, id execution.ID, failure execution.Failure) (journal.Change, error) {
	return s.command(ctx, "refuse delegation", id, func(r *row, now int64) (journal.Change, error) {
		if r.State.Terminal() {
			return journal.Change{}, nil
		}
		if err := in(r, journal.MoveRefuseDelegation); err != nil {
			return journal.Change{}, err
		}
		if !r.Delegation.Intended() {
			return journal.Change{}, fmt.Errorf("%w: it does not wait for a delegation", journal.ErrState)
		}
		return journal.Change{Changed: true, Tasks: s.end(r, now, failed(failure))}, nil
	})
}
