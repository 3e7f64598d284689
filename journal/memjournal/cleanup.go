package memjournal

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// noteCleanup lets somebody look after a row that finalizes, or has ended with something to undo, or nobody any more.
func (r *row) noteCleanup(nowMs int64) {
	switch {
	case r.State != execution.Finalizing && (!r.State.Terminal() || !r.CleanupOpen()):
		r.cleanupMs = 0
	case r.cleanupMs == 0:
		r.cleanupMs = nowMs
	}
}

// cleaned is what follows when something was undone: a finalizing row for which nothing else is open ends as it was to.
func (s *Store) cleaned(r *row, nowMs int64) []execution.Task {
	r.noteCleanup(nowMs)
	if r.CleanupOpen() || r.State != execution.Finalizing || r.Outcome == nil && r.Failure == nil {
		return nil
	}
	r.takeAway()
	return s.end(r, nowMs, r.kept())
}

// CompleteCleanup implements journal.Commands.
func (s *Store) CompleteCleanup(ctx context.Context, id execution.ID, cleanup []byte) (journal.Change, error) {
	return s.command(ctx, "complete cleanup", id, func(r *row, now int64) (journal.Change, error) {
		if err := in(r, journal.MoveCompleteCleanup); err != nil {
			return journal.Change{}, err
		}
		if len(r.Cleanup) == 0 {
			return journal.Change{}, nil
		}
		if !bytes.Equal(r.Cleanup, cleanup) {
			return journal.Change{}, fmt.Errorf("%w: another clean-up", journal.ErrConflict)
		}
		r.Cleanup = nil
		return journal.Change{Changed: true, Tasks: s.cleaned(r, now)}, nil
	})
}

// Cleanups implements journal.Recovery.
func (s *Store) Cleanups(ctx context.Context, p execution.Partition, limit int) ([]journal.Cleanup, error) {
	now, unlock, err := s.lock(ctx, "cleanups", "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	var found []journal.Cleanup
	for id, r := range s.rows {
		if id.Partition() == p && r.cleanupMs != 0 && r.cleanupMs <= now {
			since := cmp.Or(r.EndedAtMs, r.restMs)
			found = append(found, journal.Cleanup{Execution: r.snapshot(), AtMs: r.cleanupMs, SinceMs: since, NowMs: now})
		}
	}
	slices.SortFunc(found, func(a, b journal.Cleanup) int {
		return cmp.Or(cmp.Compare(a.AtMs, b.AtMs), cmp.Compare(a.Execution.ID, b.Execution.ID))
	})
	return found[:max(0, min(limit, len(found)))], nil
}

// PostponeCleanup implements journal.Recovery.
func (s *Store) PostponeCleanup(ctx context.Context, seen journal.Cleanup, delay time.Duration) (bool, error) {
	now, unlock, err := s.lock(ctx, "postpone cleanup", seen.Execution.ID)
	if err != nil {
		return false, err
	}
	defer unlock()
	r := s.rows[seen.Execution.ID]
	if r == nil || r.cleanupMs == 0 || r.cleanupMs != seen.AtMs || r.cleanupMs > now {
		return false, nil
	}
	r.cleanupMs = now + delay.Milliseconds()
	return true, nil
}

// keptUntil is when a row that has ended may be purged: one whose clean-up is open is kept for the store's retention at
// least.
func (s *Store) keptUntil(r *row) int64 {
	kept := s.kept(r)
	if r.CleanupOpen() {
		kept = max(kept, s.cfg.Retention.Milliseconds())
	}
	return r.EndedAtMs + kept
}
