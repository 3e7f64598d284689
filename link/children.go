package link

import (
	"context"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// view is the row as a client sees it that asked for this execution alone: with its children.
func (s *Service) view(ctx context.Context, row *journal.Execution) (execution.View, error) {
	view := row.View()
	if row.Children == 0 {
		return view, nil
	}
	children, err := s.cfg.Journal.Children(ctx, row.ID)
	if err != nil {
		return execution.View{}, s.problem(ctx, "children of "+string(row.ID), err)
	}
	view.Children = children
	return view, nil
}
