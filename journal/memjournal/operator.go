package memjournal

import (
	"context"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// renew stores what a resume changes.
func (r *row) renew(resumption journal.Resumption) {
	if len(resumption.Overrides) > 0 {
		r.Overrides = append([]byte(nil), resumption.Overrides...)
	}
	if resumption.Deadline > 0 {
		r.deadline = resumption.Deadline
		if r.StartedAtMs > 0 {
			r.DeadlineAtMs = r.StartedAtMs + resumption.Deadline.Milliseconds()
		}
	}
}

// TakeBack implements journal.Commands.
func (s *Store) TakeBack(ctx context.Context, id execution.ID) (journal.Change, error) {
	return s.command(ctx, "take back", id, func(r *row, now int64) (journal.Change, error) {
		if r.State.Terminal() {
			return journal.Change{}, in(r, journal.MoveTakeBack)
		}
		if in(r, journal.MoveTakeBack) != nil || r.Claim == nil {
			return journal.Change{Tasks: r.standing(now)}, nil
		}
		s.feed.requested(r.Claim.Worker, id)
		holder := r.Claim.Worker
		r.takeAway()
		if r.CancelRequested {
			return journal.Change{Changed: true, Tasks: s.end(r, now, canceled())}, nil
		}
		r.write(now, journal.ReleasedWarning(holder))
		if r.PauseRequested {
			s.suspend(r, now, journal.PausedSuspension())
			return journal.Change{Changed: true}, nil
		}
		return journal.Change{Changed: true, Tasks: s.handOff(r, now)}, nil
	})
}

// Delete implements journal.Commands.
func (s *Store) Delete(ctx context.Context, id execution.ID) error {
	_, unlock, err := s.lock(ctx, "delete", id)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.row(id)
	if err == nil {
		err = in(r, journal.MoveDelete)
	}
	if err == nil && r.CleanupOpen() {
		err = journal.ErrCleanupOpen
	}
	if err != nil {
		return fail("delete", id, err)
	}
	for _, key := range s.keys {
		if key.execution == id {
			key.gone, key.lookAtMs = true, r.atMs
		}
	}
	s.erase(r)
	return nil
}

// kept is how long the row is kept after its end, in ms.
func (s *Store) kept(r *row) int64 {
	if r.retention > 0 {
		return r.retention.Milliseconds()
	}
	return s.cfg.Retention.Milliseconds()
}

// suspendedUntil is when a suspended row fails: nobody loses one that was to be kept for a short time by pausing it.
func (s *Store) suspendedUntil(r *row) int64 {
	return r.restMs + max(s.kept(r), s.cfg.Retention.Milliseconds())
}
