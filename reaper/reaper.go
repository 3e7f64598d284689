package reaper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Tasks is what the reaper needs of the queue.
type Tasks interface {
	// Enqueue puts the tasks into the queue; a task of the same id that is there already is fine.
	Enqueue(ctx context.Context, tasks ...execution.Task) error
	// Standing says of each task whether it will run without further help: at once, or within grace. An error means
	// unknown.
	Standing(ctx context.Context, tasks []execution.Task, grace time.Duration) ([]bool, error)
	// Repair mends what a crash may leave behind in the queue, and says how much it was.
	Repair(ctx context.Context) (int, error)
}

// Store is what the reaper needs of the store.
type Store interface {
	journal.Recovery
	// CompleteDelegationCleanup and CompleteCleanup: see journal.Commands.
	CompleteDelegationCleanup(ctx context.Context, id execution.ID, lease journal.LeaseRef) (journal.Execution, error)
	CompleteCleanup(ctx context.Context, id execution.ID, cleanup []byte) (journal.Change, error)
}

// allSweeper is a store that sweeps all partitions in one round trip. What it found comes back beside the errors of the
// partitions that did not answer.
type allSweeper interface {
	SweepAll(ctx context.Context, limit int) ([]journal.Due, error)
}

// Reaper sweeps. It is safe for concurrent use.
type Reaper struct {
	store Store
	tasks Tasks
	cfg   Config

	mu    sync.Mutex
	total Report
}

// New makes a reaper. The error names the field of the configuration that is wrong.
func New(store Store, tasks Tasks, cfg Config) (*Reaper, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if store == nil || tasks == nil {
		return nil, errors.New("reaper: needs a store and a queue")
	}
	return &Reaper{store: store, tasks: tasks, cfg: cfg}, nil
}

// Total is the sum of all reports so far.
func (r *Reaper) Total() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

func (r *Reaper) count(report Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total = r.total.Add(report)
}

// Pass sweeps every partition once, and those that gave a full page again until the budget is used up. It is bounded and
// may be repeated or run in parallel. The error joins what went wrong on the way; the pass went on all the same.
func (r *Reaper) Pass(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*r.cfg.Budget)
	defer cancel()
	t := &tally{report: Report{Passes: 1}}
	budget := time.Now().Add(r.cfg.Budget)
	partitions := shuffled()
	for len(partitions) > 0 && ctx.Err() == nil {
		entries := r.sweep(ctx, partitions, t)
		r.handle(ctx, entries, t)
		if t.stuck() || time.Now().After(budget) {
			break
		}
		partitions = fullPages(entries, r.cfg.Page)
	}
	r.count(t.report)
	return t.report, errors.Join(t.errs...)
}

// shuffled lists all partitions in random order, so that parallel reapers seldom meet.
func shuffled() []execution.Partition {
	partitions := make([]execution.Partition, execution.Partitions)
	for i, p := range rand.Perm(execution.Partitions) {
		partitions[i] = execution.Partition(p)
	}
	return partitions
}

// fullPages lists the partitions that gave as many entries as they were asked for.
func fullPages(entries []journal.Due, page int) []execution.Partition {
	counts := make(map[execution.Partition]int)
	var full []execution.Partition
	for _, entry := range entries {
		if counts[entry.Partition]++; counts[entry.Partition] == page {
			full = append(full, entry.Partition)
		}
	}
	return full
}

// sweep reads the due entries of the partitions. A partition that does not answer is left to the next pass.
func (r *Reaper) sweep(ctx context.Context, partitions []execution.Partition, t *tally) []journal.Due {
	var entries []journal.Due
	if all, ok := r.store.(allSweeper); ok && len(partitions) == execution.Partitions {
		var err error
		if entries, err = all.SweepAll(ctx, r.cfg.Page); err != nil {
			t.fail(fmt.Errorf("sweep: %w", err))
		}
	} else {
		entries = r.sweepEach(ctx, partitions, t)
	}
	t.add(Report{Swept: int64(len(entries))})
	return entries
}

func (r *Reaper) sweepEach(ctx context.Context, partitions []execution.Partition, t *tally) []journal.Due {
	var (
		mu      sync.Mutex
		entries []journal.Due
		group   errgroup.Group
	)
	group.SetLimit(workers)
	for _, p := range partitions {
		group.Go(func() error {
			found, err := r.store.Sweep(ctx, p, r.cfg.Page)
			if err != nil {
				t.fail(fmt.Errorf("sweep partition %s: %w", p.Tag(), err))
			}
			mu.Lock()
			defer mu.Unlock()
			entries = append(entries, found...)
			return nil
		})
	}
	_ = group.Wait() // what failed is in the tally
	return entries
}
