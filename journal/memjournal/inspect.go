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
	c := s.conversations[r.ConversationID]
	inspection := journal.Inspection{
		Execution: r.snapshot(), NowMs: now, LookAtMs: r.atMs, ActiveID: c.active,
		Ahead: max(0, slices.Index(c.waiting, id)),
	}
	if r.index == indexHandoff {
		task := r.task(now)
		inspection.Task, inspection.RunnableAtMs = &task, r.runnableMs
	}
	return inspection, nil
}

// Oldest implements journal.Inspector.
func (s *Store) Oldest(ctx context.Context, tenant string, state execution.State) (journal.ListMark, bool, error) {
	var oldest journal.ListMark
	_, unlock, err := s.lock(ctx, "oldest", "")
	if err != nil {
		return oldest, false, err
	}
	defer unlock()
	if err := journal.CheckOldest(tenant, state); err != nil {
		return oldest, false, fail("oldest", "", err)
	}
	found := false
	for _, r := range s.rows {
		mine := tenant == execution.AllTenants || r.Caller.Tenant == tenant
		if mine && r.State == state && (!found || oldest.Before(r.mark())) {
			oldest, found = r.mark(), true
		}
	}
	return oldest, found, nil
}
