package link

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// family is what is known of the children of an execution that waits for them.
type family struct {
	all   int
	open  []execution.Child
	first *facts // of the first open one; nil: not known
	needs []execution.WhyNeed
}

// lookedAt is how many executions below one are looked at for what people have to do.
const lookedAt = 20

// waitsForChildren reports whether nothing else lets the execution go on.
func waitsForChildren(row *journal.Execution) bool {
	return row.Wait != nil && row.Wait.Kind == execution.WaitChild && row.Children > 0
}

// family looks at the children of an execution that waits for them, at what the first open one waits for, and at what people
// have to do for those below it; nil when it waits for another thing.
func (s *Service) family(ctx context.Context, row *journal.Execution) (*family, error) {
	if !waitsForChildren(row) {
		return nil, nil
	}
	children, err := s.cfg.Journal.Children(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	known := &family{all: len(children), open: stillOpen(children)}
	if len(known.open) == 0 {
		return known, nil
	}
	known.needs = s.needs(ctx, known.open)
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

// stillOpen are the children that have not ended. One without a state is gone.
func stillOpen(children []execution.Child) []execution.Child {
	var open []execution.Child
	for _, child := range children {
		if child.State != "" && !child.State.Terminal() {
			open = append(open, child)
		}
	}
	return open
}

// needs is what people have to do for the children and those below them, level by level: of at most lookedAt executions, those
// first that wait for people as it is. A child that cannot be looked at is left out. All of them are of one caller.
func (s *Service) needs(ctx context.Context, open []execution.Child) (needs []execution.WhyNeed) {
	looks := lookedAt
	for len(open) > 0 && looks > 0 && len(needs) < execution.MaxWhyNeeds {
		slices.SortStableFunc(open, func(a, b execution.Child) int { return rank(a.State) - rank(b.State) })
		var below []execution.Child
		for _, child := range open[:min(looks, len(open))] {
			looks--
			row, err := s.cfg.Journal.Get(ctx, child.ID)
			if err != nil {
				s.cfg.Logger.DebugContext(ctx, "a child cannot be looked at", "execution", child.ID, "error", err)
				continue
			}
			if need := needOf(&row); need != nil {
				needs = append(needs, *need)
			}
			if !waitsForChildren(&row) {
				continue
			}
			children, err := s.cfg.Journal.Children(ctx, child.ID)
			if err != nil {
				s.cfg.Logger.DebugContext(ctx, "a child's children cannot be looked at", "execution", child.ID, "error", err)
				continue
			}
			below = append(below, stillOpen(children)...)
		}
		open = below
	}
	return needs[:min(len(needs), execution.MaxWhyNeeds)]
}

// rank puts those first that wait for people.
func rank(state execution.State) int {
	if state == execution.WaitingForInput || state == execution.Suspended {
		return 0
	}
	return 1
}

// needOf is what a person has to do for the execution to go on; nil: nothing.
func needOf(row *journal.Execution) *execution.WhyNeed {
	need := execution.WhyNeed{Execution: row.ID, Agent: row.Request.Agent}
	switch {
	case row.CancelRequested || row.Claim != nil:
		return nil
	case row.State == execution.Suspended && row.Suspension != nil:
		need.Suspension = row.Suspension
	case row.State == execution.WaitingForInput && row.PendingInteraction != nil:
		need.Interaction = row.PendingInteraction
	default:
		return nil
	}
	return &need
}
