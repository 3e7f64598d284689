package memjournal

import (
	"context"
	"fmt"
	"maps"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// CommitInteractionInput implements journal.Commands.
func (s *Store) CommitInteractionInput(
	ctx context.Context, id execution.ID, input journal.InteractionInput,
) (journal.Mutation, error) {
	now, unlock, err := s.lock(ctx, "input", id)
	if err != nil {
		return journal.Mutation{}, err
	}
	defer unlock()
	r, err := s.row(id)
	if err != nil {
		return journal.Mutation{}, fail("input", id, err)
	}
	if receipt, ok := r.InputReceipts[input.OperationID]; ok {
		if receipt.RequestID != input.RequestID || receipt.ResponseText != input.Response {
			return journal.Mutation{}, fail("input", id, fmt.Errorf("%w: the operation id answered otherwise", journal.ErrConflict))
		}
		return r.mutation(receipt.EventSequence, true, r.standing(now)), nil
	}
	if r.State != execution.WaitingForInput || r.PendingInteraction.RequestID != input.RequestID {
		return journal.Mutation{}, fail("input", id, journal.ErrInteractionClosed)
	}
	r.write(now, execution.InteractionReceived{RequestID: input.RequestID})
	r.InputReceipts = maps.Clone(r.InputReceipts)
	if r.InputReceipts == nil {
		r.InputReceipts = map[execution.OperationID]journal.InputReceipt{}
	}
	r.InputReceipts[input.OperationID] = journal.InputReceipt{
		RequestID: input.RequestID, ResponseText: input.Response, EventSequence: r.LastSequence,
	}
	tasks := s.answer(r, now, input.RequestID, []byte(input.Response))
	return r.mutation(r.LastSequence, false, tasks), nil
}

// answer takes a parked row back to running with a result in its inbox.
func (s *Store) answer(r *row, nowMs int64, request execution.RequestID, payload []byte) []execution.Task {
	r.inbox[request] = payload
	r.State = execution.Running
	r.touch(nowMs)
	s.feed.changed(r)
	return s.handOff(r, nowMs)
}

// mutation is the answer of a call whose event is the given one.
func (r *row) mutation(sequence execution.Sequence, replayed bool, tasks []execution.Task) journal.Mutation {
	return journal.Mutation{Execution: r.snapshot(), Event: r.event(sequence), Replayed: replayed, Tasks: tasks}
}

// command runs f on a row and answers with what it did.
func (s *Store) command(
	ctx context.Context, operation string, id execution.ID, f func(*row, int64) (journal.Change, error),
) (journal.Change, error) {
	now, unlock, err := s.lock(ctx, operation, id)
	if err != nil {
		return journal.Change{}, err
	}
	defer unlock()
	r, err := s.row(id)
	if err != nil {
		return journal.Change{}, fail(operation, id, err)
	}
	change, err := f(r, now)
	if err != nil {
		return journal.Change{}, fail(operation, id, err)
	}
	if change.Changed {
		r.touch(now)
		s.feed.changed(r)
	}
	change.Execution = r.snapshot()
	return change, nil
}

// Cancel implements journal.Commands.
func (s *Store) Cancel(ctx context.Context, id execution.ID) (journal.Change, error) {
	return s.command(ctx, "cancel", id, func(r *row, now int64) (journal.Change, error) {
		if r.State.Terminal() {
			return journal.Change{}, nil
		}
		if err := in(r, journal.MoveCancel); err != nil {
			return journal.Change{}, err
		}
		return s.revoke(r, now), nil
	})
}

// Pause implements journal.Commands.
func (s *Store) Pause(ctx context.Context, id execution.ID) (journal.Change, error) {
	return s.command(ctx, "pause", id, func(r *row, now int64) (journal.Change, error) {
		if r.State == execution.Suspended {
			return journal.Change{}, nil
		}
		if err := in(r, journal.MovePause); err != nil {
			return journal.Change{}, err
		}
		if !r.live(now) {
			r.takeAway()
			if r.CancelRequested { // recorded before, and its holder is gone: a cancel wins
				return journal.Change{Changed: true, Tasks: s.end(r, now, canceled())}, nil
			}
			s.suspend(r, now, journal.PausedSuspension())
			return journal.Change{Changed: true}, nil
		}
		if r.PauseRequested {
			return journal.Change{Pending: true}, nil
		}
		r.PauseRequested = true
		s.feed.requested(r.Claim.Worker, id)
		return journal.Change{Changed: true, Pending: true}, nil
	})
}

// Resume implements journal.Commands.
func (s *Store) Resume(
	ctx context.Context, id execution.ID, resumption journal.Resumption,
) (journal.Change, error) {
	return s.command(ctx, "resume", id, func(r *row, now int64) (journal.Change, error) {
		if r.State.Terminal() || r.State == execution.Finalizing {
			return journal.Change{}, in(r, journal.MoveResume)
		}
		if r.State != execution.Suspended {
			return journal.Change{}, nil
		}
		r.Suspension = nil
		r.Attempts, r.Reclaims, r.ReclaimWorkers = 0, 0, nil
		r.renew(resumption)
		r.write(now, execution.ExecutionResumed{})
		return journal.Change{Changed: true, Tasks: s.goBack(r, now)}, nil
	})
}

// goBack takes a suspended row to where it was. A back-off that has not passed still holds.
func (s *Store) goBack(r *row, nowMs int64) []execution.Task {
	open := r.PendingInteraction != nil && !r.answered(r.PendingInteraction.RequestID)
	waits := r.NotBeforeMs > nowMs
	switch {
	case r.StartedAtMs == 0:
		r.State = execution.Queued
		waits = waits || !r.Active || r.Delegation.Intended()
	case open:
		r.State = execution.WaitingForInput
		waits = true
	case r.complete():
		r.State, r.NotBeforeMs, waits = execution.Running, 0, false
	default:
		r.State = execution.Running
		waits = waits || r.Wait != nil && r.NotBeforeMs == 0
	}
	if waits {
		s.rest(r, nowMs)
		return nil
	}
	return s.handOff(r, nowMs)
}

// CompleteDelegationCleanup implements journal.Commands.
func (s *Store) CompleteDelegationCleanup(
	ctx context.Context, id execution.ID, lease journal.LeaseRef,
) (journal.Execution, error) {
	const operation = "complete delegation cleanup"
	change, err := s.command(ctx, operation, id, func(r *row, now int64) (journal.Change, error) {
		if err := in(r, journal.MoveCompleteDelegation); err != nil {
			return journal.Change{}, err
		}
		if r.Delegation == nil || r.Delegation.LeaseRef != lease {
			return journal.Change{}, fmt.Errorf("%w: another delegation", journal.ErrConflict)
		}
		if r.Delegation.CleanupComplete {
			return journal.Change{}, nil
		}
		r.Delegation.CleanupComplete = true
		s.cleaned(r, now)
		return journal.Change{Changed: true}, nil
	})
	return change.Execution, err
}

// kept is the ending that a finalizing row keeps.
func (r *row) kept() journal.Ending {
	switch {
	case r.Outcome != nil:
		return journal.Ending{State: execution.Completed, Outcome: r.Outcome}
	case r.Failure != nil:
		return journal.Ending{State: execution.Failed, Failure: r.Failure}
	case r.CancelRequested:
		return canceled()
	default:
		return failed(journal.UnfinishedFailure())
	}
}

// OpenExecutions implements journal.Commands.
func (s *Store) OpenExecutions(ctx context.Context) (int64, error) {
	_, unlock, err := s.lock(ctx, "count open", "")
	if err != nil {
		return 0, err
	}
	defer unlock()
	var open int64
	for _, r := range s.rows {
		if !r.State.Terminal() {
			open++
		}
	}
	return open, nil
}
