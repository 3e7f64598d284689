package memjournal

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// BeginInteraction implements journal.ExecutionJournal. With a cancel or a pause recorded it refuses: the holder
// releases, which carries them out.
func (s *Store) BeginInteraction(
	ctx context.Context, h journal.Hold, interaction execution.Interaction,
) (journal.Mutation, error) {
	const method = "begin interaction"
	if err := journal.CheckInteraction(interaction); err != nil {
		return journal.Mutation{}, fail(method, h.Execution, err)
	}
	n, unlock, err := s.hold(ctx, method, h)
	if err != nil {
		return journal.Mutation{}, err
	}
	defer unlock()
	r := n.row
	if n.replayed {
		return r.mutation(n.call.sequence, true, nil), nil
	}
	if err := s.guardBegin(r, interaction); err != nil {
		return journal.Mutation{}, fail(method, h.Execution, err)
	}
	r.Claim = nil
	s.ask(r, n.nowMs, interaction)
	n.call.sequence = r.LastSequence
	s.done(n, true)
	return r.mutation(n.call.sequence, false, nil), nil
}

func (s *Store) guardBegin(r *row, interaction execution.Interaction) error {
	if err := in(r, journal.MoveBeginInteraction); err != nil {
		return err
	}
	if r.CancelRequested || r.PauseRequested {
		return fmt.Errorf("%w: a cancel or a pause is recorded", journal.ErrState)
	}
	if err := r.mayAsk(interaction.RequestID, nil); err != nil {
		return err
	}
	return s.room(r, 1)
}

// CompleteInteraction implements journal.ExecutionJournal.
func (s *Store) CompleteInteraction(
	ctx context.Context, h journal.Hold, request execution.RequestID,
) (journal.Execution, error) {
	const method = "complete interaction"
	n, unlock, err := s.hold(ctx, method, h)
	if err != nil {
		return journal.Execution{}, err
	}
	defer unlock()
	r := n.row
	if n.replayed {
		return r.snapshot(), nil
	}
	if err := in(r, journal.MoveCompleteInteraction); err != nil {
		return journal.Execution{}, fail(method, h.Execution, err)
	}
	open := r.PendingInteraction != nil && r.PendingInteraction.RequestID == request
	if open && !r.answered(request) || !open && !r.receipt(request) {
		return journal.Execution{}, fail(method, h.Execution,
			fmt.Errorf("%w: interaction %s has no answer", journal.ErrConflict, request))
	}
	if open {
		r.consume(request)
	}
	s.done(n, open)
	return r.snapshot(), nil
}

// AttachDelegation implements journal.ExecutionJournal.
func (s *Store) AttachDelegation(
	ctx context.Context, h journal.Hold, delegation journal.Delegation,
) (journal.Execution, error) {
	const method = "attach delegation"
	if err := journal.CheckDelegation(delegation); err != nil {
		return journal.Execution{}, fail(method, h.Execution, err)
	}
	n, unlock, err := s.hold(ctx, method, h)
	if err != nil {
		return journal.Execution{}, err
	}
	defer unlock()
	r := n.row
	if n.replayed {
		return r.snapshot(), nil
	}
	if err := in(r, journal.MoveAttachDelegation); err != nil {
		return journal.Execution{}, fail(method, h.Execution, err)
	}
	old := r.Delegation
	if old != nil && old.LeaseRef != delegation.LeaseRef {
		return journal.Execution{}, fail(method, h.Execution, fmt.Errorf("%w: another delegation", journal.ErrConflict))
	}
	changed := old == nil || delegation.Revision > old.Revision
	if changed {
		delegation.CleanupComplete = delegation.CleanupComplete || old != nil && old.CleanupComplete
		r.Delegation = &delegation
		r.noteCleanup(n.nowMs)
	}
	s.done(n, changed)
	return r.snapshot(), nil
}
