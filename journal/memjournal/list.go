package memjournal

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/journal"
)

// List implements journal.Lister.
func (s *Store) List(ctx context.Context, l journal.Listing) (journal.ListPage, error) {
	_, unlock, err := s.lock(ctx, "list", "")
	if err != nil {
		return journal.ListPage{}, err
	}
	defer unlock()
	if err := journal.CheckListing(l); err != nil {
		return journal.ListPage{}, fail("list", "", err)
	}
	page := journal.ListPage{Executions: []journal.Execution{}}
	for i, r := range s.listed(l) {
		if len(page.Executions) == l.Limit || i == journal.MaxListed {
			return page, nil
		}
		if l.Matches(&r.Execution) {
			page.Executions = append(page.Executions, r.snapshot())
		}
		mark := r.mark()
		page.Next = &mark
	}
	page.Next = nil
	return page, nil
}

func (r *row) mark() journal.ListMark { return journal.ListMark{CreatedAtMs: r.CreatedAtMs, ID: r.ID} }

// listed are the rows that a listing looks at, in its order.
func (s *Store) listed(l journal.Listing) []*row {
	only := journal.Listing{Caller: l.Caller, Own: l.Own, State: l.State, ConversationID: l.ConversationID}
	var rows []*row
	for _, r := range s.rows {
		if only.Matches(&r.Execution) && (l.After == nil || l.After.Before(r.mark())) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *row) int {
		if a.mark().Before(b.mark()) {
			return -1
		}
		return 1
	})
	return rows
}
