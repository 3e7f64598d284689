package memjournal

import (
	"context"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Commit implements journal.Steps.
func (s *Store) Commit(ctx context.Context, q journal.Commit) (journal.Committed, error) {
	if err := journal.CheckCommit(q); err != nil {
		return journal.Committed{}, fail("commit", q.Execution, err)
	}
	now, unlock, err := s.lock(ctx, "commit", q.Execution)
	if err != nil {
		return journal.Committed{}, err
	}
	defer unlock()
	r, err := s.row(q.Execution)
	if err != nil {
		return journal.Committed{}, fail("commit", q.Execution, err)
	}
	if q.Fence != "" && r.lastCommit.fence == q.Fence && r.lastCommit.step == q.Reaches() {
		answer := r.lastCommit.answer
		answer.Replayed = true
		return answer, nil
	}
	kind, err := s.guardCommit(r, q)
	if err != nil {
		return journal.Committed{}, fail("commit", q.Execution, err)
	}
	kept := q.Keep > 0 && q.Then.Kind == journal.ThenContinue && !r.CancelRequested && !r.PauseRequested
	claim := r.Claim
	s.keep(r, q, now)
	var tasks []execution.Task
	if kept {
		r.Claim = &journal.Claim{Worker: claim.Worker, Fence: claim.Fence, ExpiresAtMs: now + q.Keep.Milliseconds()}
		r.place(indexDue, r.Claim.ExpiresAtMs)
	} else {
		tasks = s.proceed(r, q, kind, now)
	}
	answer := journal.Committed{Step: r.Step, State: r.State, Sequence: r.LastSequence, Tasks: tasks, Kept: kept}
	r.lastCommit = lastCommit{q.Fence, q.Reaches(), answer}
	r.touch(now)
	s.feed.changed(r)
	return answer, nil
}

// guardCommit refuses, or says what the commit comes to: a wait for something that is already there goes on.
func (s *Store) guardCommit(r *row, q journal.Commit) (journal.ThenKind, error) {
	if !r.holds(q.Fence) {
		return "", journal.ErrFenced
	}
	if r.Step != q.Step {
		return "", fmt.Errorf("%w: the execution is at step %d, not %d", journal.ErrConflict, r.Step, q.Step)
	}
	if err := in(r, journal.MoveCommitContinue); err != nil {
		return "", err
	}
	kind, events, earlier := q.Then.Kind, len(q.Events), 0
	for i := range q.Earlier {
		earlier += len(q.Earlier[i].Events)
	}
	consumed := q.AllConsumed()
	switch {
	case kind == journal.ThenPark && r.arrived(q.Then, consumed):
		kind = journal.ThenContinue
	case kind == journal.ThenPark && q.Then.Interaction != nil:
		if err := r.mayAsk(q.Then.Interaction.RequestID, consumed); err != nil {
			return "", err
		}
		events++
	case kind == journal.ThenSuspend:
		events++
	case kind == journal.ThenEnd:
		events = 0 // an end is always written
	}
	if r.CancelRequested {
		return kind, nil
	}
	return kind, s.room(r, earlier+events)
}

// arrived reports whether all that the commit would wait for is already there.
func (r *row) arrived(then journal.Then, consumed []execution.RequestID) bool {
	awaited := then.Await
	if len(awaited) == 0 && then.Interaction != nil {
		awaited = []execution.RequestID{then.Interaction.RequestID}
	}
	return len(awaited) > 0 && r.there(awaited, consumed)
}

// mayAsk refuses a second open interaction, and a question that was answered before.
func (r *row) mayAsk(request execution.RequestID, consumed []execution.RequestID) error {
	if p := r.PendingInteraction; p != nil && !slices.Contains(consumed, p.RequestID) {
		return fmt.Errorf("%w: interaction %s is open", journal.ErrConflict, p.RequestID)
	}
	if r.answered(request) {
		return fmt.Errorf("%w: interaction %s was answered", journal.ErrConflict, request)
	}
	return nil
}

// keep stores what the steps achieved and ends the claim.
func (s *Store) keep(r *row, q journal.Commit, nowMs int64) {
	for _, earlier := range q.Earlier {
		s.pass(r, earlier, q.ClaimedAtMs, nowMs)
		r.touch(nowMs)
	}
	s.pass(r, journal.Boundary{
		Checkpoint: q.Checkpoint, Messages: q.Messages, Plan: q.Plan, Events: q.Events, Consumed: q.Consumed,
	}, q.ClaimedAtMs, nowMs)
	r.Node = q.Node
	r.batch, r.readsHistory = slices.Clone(q.Batch), q.ReadsHistory
	r.Usage = q.Usage
	r.Attempts, r.Reclaims, r.ReclaimWorkers, r.NotBeforeMs = 0, 0, nil, 0
	r.Wait, r.Claim, r.await = nil, nil, nil
	if q.Cleanup != nil {
		r.Cleanup = append([]byte(nil), *q.Cleanup...)
	}
}

// pass stores what belongs to one boundary. The claim was not given later than now, whatever its holder says.
func (s *Store) pass(r *row, boundary journal.Boundary, claimedMs, nowMs int64) {
	r.Step++
	r.checkpoints = append(r.checkpoints, journal.StoredCheckpoint{
		Data: append([]byte{}, boundary.Checkpoint...), AtMs: nowMs, ClaimedAtMs: min(claimedMs, nowMs),
	})
	s.conversations[r.talk()].add(r, cloneBytes(boundary.Messages))
	for _, plan := range boundary.Plan {
		if entry := r.ledger[plan.CallID]; entry == nil || entry.State != journal.Done {
			r.ledger[plan.CallID] = &journal.LedgerEntry{
				CallID: plan.CallID, State: journal.Planned, Intent: append([]byte{}, plan.Intent...),
			}
		}
	}
	for _, request := range boundary.Consumed {
		r.consume(request)
	}
	r.write(nowMs, boundary.Events...)
}

// proceed carries out what follows: a recorded cancel first, and a recorded pause unless the execution ends.
func (s *Store) proceed(r *row, q journal.Commit, kind journal.ThenKind, nowMs int64) []execution.Task {
	switch {
	case r.CancelRequested:
		return s.end(r, nowMs, canceled())
	case kind == journal.ThenEnd && r.CleanupOpen():
		s.finalize(r, nowMs, journal.EndingOf(q.Then))
		return nil
	case kind == journal.ThenEnd:
		return s.end(r, nowMs, journal.EndingOf(q.Then))
	case kind == journal.ThenSuspend:
		s.suspend(r, nowMs, q.Then.Suspension)
		return nil
	case kind == journal.ThenPark && q.Then.Interaction != nil:
		s.ask(r, nowMs, *q.Then.Interaction)
	case kind == journal.ThenPark:
		s.park(r, nowMs, q.Then)
	case !r.PauseRequested:
		return s.handOff(r, nowMs)
	}
	if r.PauseRequested {
		s.suspend(r, nowMs, journal.PausedSuspension())
	}
	return nil
}
