package link

import (
	"context"
	"errors"
	"slices"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// shareOf refuses limits of a child that are above what its parent still has: a tree of executions never uses more than its
// root may. Only limits that are raised are looked at.
//
// What a parent has left is certain only while it waits for its children: then all other calls of its turn have their results,
// and it starts no other child before this one has ended. Two resumes of two of its children in the same moment do not know of
// each other; the parent's own check finds that when their results come.
func (s *Service) shareOf(ctx context.Context, child *journal.Execution, had, next execution.Limits) error {
	raised := slices.DeleteFunc(agent.SharedLimits(), func(l agent.SharedLimit) bool {
		return *l.Limit(&had) == 0 || *l.Limit(&next) <= *l.Limit(&had)
	})
	if child.Parent == nil || child.CancelRequested || len(raised) == 0 {
		return nil
	}
	parent, err := s.cfg.Journal.Get(ctx, child.Parent.Execution)
	if errors.Is(err, journal.ErrNotFound) || err == nil && parent.State.Terminal() {
		return nil // nobody's limits count any more, and the child is about to end
	}
	if err != nil {
		return s.problem(ctx, "resume "+string(child.ID), err)
	}
	of, _, err := s.inForce(ctx, &parent)
	if err != nil {
		return err
	}
	raised = slices.DeleteFunc(raised, func(l agent.SharedLimit) bool { return *l.Limit(&of.Limits) == 0 })
	if len(raised) == 0 {
		return nil
	}
	if !waitsForChildren(&parent) || parent.Claim != nil {
		return execution.NewAPIError(execution.Conflict,
			"its parent %s shares its own limit, and is still at the turn that started this one: ask again when it waits for its children",
			parent.ID).In("limits." + raised[0].Name)
	}
	others, err := s.shares(ctx, &parent, child.ID)
	if err != nil {
		return err
	}
	for _, limit := range raised {
		most, asked := *limit.Limit(&of.Limits), *limit.Limit(&next)
		if left := most - limit.Used(&parent.Usage) - spokenFor(limit, others); asked > left {
			return execution.NewAPIError(execution.Conflict,
				"is %d, and of the limit (%d) of its parent %s at most %d are left for it: pause the parent and resume it with a higher limit first",
				asked, most, parent.ID, max(left, *limit.Limit(&had))).In("limits." + limit.Name)
		}
	}
	return nil
}

// spokenFor is how much of a limit the other children have. Each call that a child answers, its own too, counts as one.
func spokenFor(limit agent.SharedLimit, others []share) (sum int64) {
	for _, other := range others {
		sum += other.of(limit)
	}
	if limit.Name == agent.MaxToolCalls {
		sum += int64(len(others)) + 1
	}
	return sum
}

// share is what a child of an execution has, or had, of its limits.
type share struct {
	limits execution.Limits // of one that is open
	usage  execution.Usage  // of one that has ended, whose result its parent has not taken yet
	open   bool
}

func (o *share) of(limit agent.SharedLimit) int64 {
	if o.open {
		return *limit.Limit(&o.limits)
	}
	return limit.Used(&o.usage)
}

// shares are those of the children beside the given one whose results are not part of the parent's usage yet: their calls have
// no receipt.
func (s *Service) shares(ctx context.Context, parent *journal.Execution, beside execution.ID) ([]share, error) {
	wrong := func(err error) error { return s.problem(ctx, "children of "+string(parent.ID), err) }
	children, err := s.cfg.Journal.Children(ctx, parent.ID)
	if err != nil {
		return nil, wrong(err)
	}
	settled, err := s.settled(ctx, parent.ID, children)
	if err != nil {
		return nil, wrong(err)
	}
	var all []share
	for _, child := range children {
		if child.ID == beside || settled[child.Call] {
			continue
		}
		row, err := s.cfg.Journal.Get(ctx, child.ID)
		if errors.Is(err, journal.ErrNotFound) { // it has ended and was deleted
			continue
		}
		if err != nil {
			return nil, wrong(err)
		}
		one := share{usage: row.Usage, open: !row.State.Terminal()}
		if one.open {
			definition, _, err := s.inForce(ctx, &row)
			if err != nil {
				return nil, err
			}
			one.limits = definition.Limits
		}
		all = append(all, one)
	}
	return all, nil
}

// settled are the calls of these children that have a receipt. Few entries are read at once: a receipt may be large.
func (s *Service) settled(ctx context.Context, id execution.ID, children []journal.Child) (map[execution.CallID]bool, error) {
	settled := make(map[execution.CallID]bool, len(children))
	for some := range slices.Chunk(children, firstRead) {
		calls := make([]execution.CallID, len(some))
		for i, child := range some {
			calls[i] = child.Call
		}
		ledger, err := s.cfg.Journal.Ledger(ctx, id, calls)
		if err != nil {
			return nil, err
		}
		for _, entry := range ledger {
			settled[entry.CallID] = entry.State == journal.Done
		}
	}
	return settled, nil
}
