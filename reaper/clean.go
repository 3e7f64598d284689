package reaper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Cleaner undoes what an execution has outside, once it has ended or is about to: revokes its delegation, aborts its remote
// task. Cleaning is idempotent: several reapers, and workers, may do it at once and again. A nil error says that nothing is
// left; the reaper then says so to the store. An error carries no secret.
type Cleaner interface {
	Clean(ctx context.Context, row journal.Execution) error
}

// CleanerFunc is a function as a Cleaner.
type CleanerFunc func(ctx context.Context, row journal.Execution) error

// Clean calls the function.
func (f CleanerFunc) Clean(ctx context.Context, row journal.Execution) error { return f(ctx, row) }

// allCleanups is a store that reads the clean-ups of all partitions in one round trip. What it found comes back beside the
// errors of the partitions that did not answer.
type allCleanups interface {
	CleanupsAll(ctx context.Context, limit int) ([]journal.Cleanup, error)
}

// Clean attempts each clean-up that is due, once; it does nothing without a Cleaner. It is bounded and may be repeated or run
// in parallel: of reapers that see the same entry one attempts it. What fails is attempted again later, the less often the
// longer it has failed. The error joins what went wrong on the way.
func (r *Reaper) Clean(ctx context.Context) (Report, error) {
	if r.cfg.Cleaner == nil {
		return Report{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*r.cfg.Budget+r.cfg.CleanTimeout)
	defer cancel()
	t := &tally{}
	over := time.Now().Add(2 * r.cfg.Budget)
	seen := r.cleanups(ctx, t)
	rand.Shuffle(len(seen), func(i, j int) { seen[i], seen[j] = seen[j], seen[i] })
	var group errgroup.Group
	group.SetLimit(workers)
	for _, c := range seen {
		group.Go(func() error {
			if ctx.Err() == nil && !t.gone() && time.Now().Before(over) { // what is left stays due
				r.cleanOne(ctx, c, t)
			}
			return nil
		})
	}
	_ = group.Wait() // what failed is in the tally
	r.count(t.report)
	return t.report, errors.Join(t.errs...)
}

// cleanups reads what is due. A partition that does not answer is left to the next time.
func (r *Reaper) cleanups(ctx context.Context, t *tally) []journal.Cleanup {
	if all, ok := r.store.(allCleanups); ok {
		seen, err := all.CleanupsAll(ctx, r.cfg.Page)
		if err != nil {
			t.fail(fmt.Errorf("clean-ups: %w", err))
		}
		return seen
	}
	var seen []journal.Cleanup
	for _, p := range shuffled() {
		found, err := r.store.Cleanups(ctx, p, r.cfg.Page)
		if err != nil {
			t.fail(fmt.Errorf("clean-ups of partition %s: %w", p.Tag(), err))
		}
		seen = append(seen, found...)
	}
	return seen
}

// cleanOne takes an attempt by moving the next one on, so that it comes whatever becomes of this one.
func (r *Reaper) cleanOne(ctx context.Context, seen journal.Cleanup, t *tally) {
	id, delay := seen.Execution.ID, backOff(seen)
	if seen.Bad {
		delay = badDelay
	}
	moved, err := r.store.PostponeCleanup(ctx, seen, delay)
	t.heard(!errors.Is(err, journal.ErrUnavailable))
	switch {
	case err != nil:
		t.fail(fmt.Errorf("postpone the clean-up of %s: %w", id, err))
	case !moved:
		t.add(Report{MovedOn: 1})
	case seen.Bad:
		t.add(Report{Bad: 1})
		t.fail(fmt.Errorf("clean-up of %s set aside for %v: the row cannot be read", id, badDelay))
	case seen.Execution.CleanupOpen():
		r.attempt(ctx, seen.Execution, t)
	}
}

// attempt cleans up, and says to the store that it is done.
func (r *Reaper) attempt(ctx context.Context, row journal.Execution, t *tally) {
	bounded, cancel := context.WithTimeout(ctx, r.cfg.CleanTimeout)
	defer cancel()
	if err := r.cfg.Cleaner.Clean(bounded, row); err != nil {
		t.add(Report{Unclean: 1})
		t.fail(fmt.Errorf("clean up after %s: %w", row.ID, err))
		return
	}
	// It is done by now: a stop of the reaper must not have it done again.
	final, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout)
	defer cancel()
	tasks, err := r.complete(final, row)
	switch {
	case err == nil:
		t.add(Report{Cleaned: 1})
	case errors.Is(err, journal.ErrNotFound) || errors.Is(err, journal.ErrConflict):
		t.add(Report{MovedOn: 1}) // deleted meanwhile, or another thing is to be undone by now
	default:
		t.fail(fmt.Errorf("complete the clean-up of %s: %w", row.ID, err))
	}
	r.enqueue(final, tasks, t)
}

func (r *Reaper) complete(ctx context.Context, row journal.Execution) (tasks []execution.Task, err error) {
	if d := row.Delegation; d != nil && !d.CleanupComplete {
		// The tasks that may follow are due at once: a sweep finds them.
		if _, err = r.store.CompleteDelegationCleanup(ctx, row.ID, d.LeaseRef); err != nil {
			return nil, err
		}
	}
	if len(row.Cleanup) > 0 {
		change, err := r.store.CompleteCleanup(ctx, row.ID, row.Cleanup)
		return change.Tasks, err
	}
	return nil, nil
}

// backOff is the age of the clean-up within bounds: it doubles the time between two attempts.
func backOff(seen journal.Cleanup) time.Duration {
	age := time.Duration(seen.NowMs-seen.SinceMs) * time.Millisecond
	return max(minBackOff, min(age, maxBackOff))
}
