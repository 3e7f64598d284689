package reaper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// verdict is what the queue said about a hand-off's task.
type verdict int

const (
	unknown verdict = iota // it did not answer, or was not asked
	standing
	missing
)

type finding struct {
	journal.Due
	verdict verdict
}

// handle does what each entry asks for, recovery before purges, some at a time.
func (r *Reaper) handle(ctx context.Context, entries []journal.Due, t *tally) {
	findings := r.lookUp(ctx, entries, t)
	slices.SortStableFunc(findings, func(a, b finding) int { return rank(a.Action) - rank(b.Action) })
	var group errgroup.Group
	group.SetLimit(workers)
	for _, f := range findings {
		group.Go(func() error {
			if ctx.Err() == nil && !t.gone() { // what is left of a pass that is broken off stays due
				r.handleOne(ctx, f, t)
			}
			return nil
		})
	}
	_ = group.Wait() // what failed is in the tally
}

func rank(action journal.DueAction) int {
	switch action {
	case journal.ActRequeue:
		return 0
	case journal.ActStanding, journal.ActExpire:
		return 1
	case journal.ActPurge, journal.ActKey, journal.ActBad, journal.ActNewer:
		return 2
	default:
		return 3
	}
}

// lookUp asks the queue about the tasks of all hand-offs, a hundred at a time.
func (r *Reaper) lookUp(ctx context.Context, entries []journal.Due, t *tally) []finding {
	findings := make([]finding, len(entries))
	var asked []int
	for i, entry := range entries {
		findings[i].Due = entry
		if entry.Action == journal.ActStanding {
			asked = append(asked, i)
		}
	}
	for page := range slices.Chunk(asked, lookupPage) {
		tasks := make([]execution.Task, len(page))
		for i, at := range page {
			tasks[i] = findings[at].Task
		}
		answers, err := r.tasks.Standing(ctx, tasks, r.cfg.Grace)
		if err == nil && len(answers) != len(tasks) {
			err = fmt.Errorf("%d answers to %d questions", len(answers), len(tasks))
		}
		if err != nil {
			t.add(Report{Unknown: int64(len(page))})
			t.fail(fmt.Errorf("look up %d tasks: %w", len(page), err))
			continue
		}
		t.add(Report{Lookups: int64(len(page))})
		for i, at := range page {
			findings[at].verdict = missing
			if answers[i] {
				findings[at].verdict = standing
				t.add(Report{Standing: 1})
			}
		}
	}
	return findings
}

func (r *Reaper) handleOne(ctx context.Context, f finding, t *tally) {
	var err error
	switch f.Action {
	case journal.ActRequeue:
		err = r.requeue(ctx, f.Due, t)
	case journal.ActStanding:
		err = r.handOff(ctx, f, t)
	case journal.ActExpire:
		err = r.expire(ctx, f.Due, t)
	case journal.ActPurge, journal.ActKey:
		if err = r.store.Purge(ctx, f.Due); err == nil {
			t.add(Report{Purged: 1})
		}
	case journal.ActNewer:
		if err = r.store.Postpone(ctx, f.Due, newerDelay); err == nil {
			t.add(Report{Newer: 1})
		}
	case journal.ActBad:
		r.setAside(ctx, f.Due, errors.New("the row cannot be read"), t)
	default:
		r.setAside(ctx, f.Due, fmt.Errorf("unknown action %q", f.Action), t)
	}
	t.heard(!errors.Is(err, journal.ErrUnavailable))
	switch {
	case err == nil:
	case errors.Is(err, journal.ErrNotFound):
		t.add(Report{MovedOn: 1}) // purged meanwhile; the next sweep removes what is left of it
	case errors.Is(err, journal.ErrUnavailable) || ctx.Err() != nil:
		t.fail(fmt.Errorf("%s %s: %w", f.Action, f.Member, err)) // it stays due
	default:
		r.setAside(ctx, f.Due, err, t)
	}
}

func (r *Reaper) handOff(ctx context.Context, f finding, t *tally) error {
	switch f.verdict {
	case standing:
		if err := r.store.Postpone(ctx, f.Due, r.postponement(f.Due)); err != nil {
			return fmt.Errorf("postpone: %w", err)
		}
		t.add(Report{Postponed: 1})
		return nil
	case missing:
		return r.requeue(ctx, f.Due, t)
	case unknown:
		return nil
	default:
		return nil
	}
}

// postponement is the age of the wait, within bounds: the longer a task has been standing, the less often it is looked
// up, so that a backlog costs next to nothing.
func (r *Reaper) postponement(entry journal.Due) time.Duration {
	age := time.Duration(entry.NowMs-entry.SinceMs) * time.Millisecond
	return max(r.cfg.Grace, min(age, maxPostpone))
}

func (r *Reaper) requeue(ctx context.Context, entry journal.Due, t *tally) error {
	answer, err := r.store.Requeue(ctx, entry)
	if err != nil {
		return fmt.Errorf("requeue: %w", err)
	}
	r.follow(ctx, answer, Report{Requeued: 1}, t)
	return nil
}

func (r *Reaper) expire(ctx context.Context, entry journal.Due, t *tally) error {
	answer, err := r.store.Expire(ctx, entry)
	if err != nil {
		return fmt.Errorf("expire: %w", err)
	}
	r.follow(ctx, answer, Report{Expired: 1}, t)
	return nil
}

// follow counts what was done and enqueues the tasks that follow from it. A task that cannot be enqueued is left to the
// hand-off entry of its row.
func (r *Reaper) follow(ctx context.Context, answer journal.Requeued, done Report, t *tally) {
	if !answer.Moved {
		done = Report{MovedOn: 1}
	}
	t.add(done)
	r.enqueue(ctx, answer.Tasks, t)
}

func (r *Reaper) enqueue(ctx context.Context, tasks []execution.Task, t *tally) {
	if len(tasks) == 0 {
		return
	}
	// The step is runnable by now: a stop of the reaper must not cost it the grace.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout)
	defer cancel()
	if err := r.tasks.Enqueue(ctx, tasks...); err != nil {
		t.fail(fmt.Errorf("enqueue %s: %w", tasks[0].ID(), err))
		return
	}
	t.add(Report{Enqueued: int64(len(tasks))})
}

// setAside moves an entry on that cannot be handled, so that it never blocks the others.
func (r *Reaper) setAside(ctx context.Context, entry journal.Due, cause error, t *tally) {
	t.add(Report{Bad: 1})
	t.fail(fmt.Errorf("%s %s set aside for %v: %w", entry.Action, entry.Member, badDelay, cause))
	if err := r.store.Postpone(ctx, entry, badDelay); err != nil && !errors.Is(err, journal.ErrNotFound) {
		t.fail(fmt.Errorf("set %s aside: %w", entry.Member, err))
	}
}
