package memjournal

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Inspect implements journal.Inspector.
func (s *Store) Inspect(ctx context.Context, id execution.ID) (journal.Inspection, error) {
	now, unlock, err := s.lock(ctx, "inspect", id)
	if err != nil {
		return journal.Inspection{}, err
	}
	defer unlock()
	r, err := s.row(id)
	if err != nil {
		return journal.Inspection{}, fail("inspect", id, err)
	}
	c := s.conversations[r.talk()]
	inspection := journal.Inspection{
		Execution: r.snapshot(), NowMs: now, LookAtMs: r.atMs, CleanupAtMs: r.cleanupMs, ActiveID: c.active,
		Ahead: max(0, slices.Index(c.waiting, id)),
	}
	if r.index == indexHandoff {
		task := r.task(now)
		inspection.Task, inspection.RunnableAtMs = &task, r.runnableMs
	}
	return inspection, nil
}

// CountOutside implements journal.Inspector.
func (s *Store) CountOutside(ctx context.Context) (int64, error) {
	_, unlock, err := s.lock(ctx, "count outside", "")
	if err != nil {
		return 0, err
	}
	defer unlock()
	count := int64(0)
	for _, r := range s.rows {
		if len(r.Cleanup) > 0 {
			count++
		}
	}
	return count, nil
}

// Count implements journal.Inspector.
func (s *Store) Count(ctx context.Context, tenant string) (journal.Counts, error) {
	_, unlock, err := s.lock(ctx, "count", "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := journal.CheckCount(tenant); err != nil {
		return nil, fail("count", "", err)
	}
	counts := make(journal.Counts)
	for _, r := range s.rows {
		if tenant != execution.AllTenants && r.Caller.Tenant != tenant {
			continue
		}
		count := counts[r.State]
		count.Executions++
		if mark := r.mark(); !r.State.Terminal() && (count.Oldest == nil || count.Oldest.Before(mark)) {
			count.Oldest = &mark
		}
		counts[r.State] = count
	}
	return counts, nil
}
