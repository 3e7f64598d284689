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

// family is what is known of the children of an execution that waits for them.
type family struct {
	all   int
	open  []execution.Child
	first *facts // of the first open one; nil: not known
}

// family looks at the children of an execution that waits for them, and at what the first open one waits for; nil when it
// waits for another thing. What one of its children waits for in turn is asked of that child.
func (s *Service) family(ctx context.Context, row *journal.Execution) (*family, error) {
	if row.Wait == nil || row.Wait.Kind != execution.WaitChild || row.Children == 0 {
		return nil, nil
	}
	children, err := s.cfg.Journal.Children(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	known := &family{all: len(children)}
	for _, child := range children {
		if child.State != "" && !child.State.Terminal() {
			known.open = append(known.open, child)
		}
	}
	if len(known.open) == 0 {
		return known, nil
	}
	seen, err := s.cfg.Journal.Inspect(ctx, known.open[0].ID)
	if err != nil { // it may have ended and been deleted meanwhile: the rest of the answer is worth having all the same
		s.cfg.Logger.DebugContext(ctx, "a child cannot be looked at", "execution", known.open[0].ID, "error", err)
		return known, nil
	}
	known.first = &facts{Inspection: seen}
	if seen.Task != nil {
		known.first.place = s.place(ctx, *seen.Task)
	}
	return known, nil
}
