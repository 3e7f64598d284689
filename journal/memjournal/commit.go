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
	if q.Fence != "" && r.lastCommit.fence == q.Fence && r.lastCommit.step == q.Step {
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
	r.lastCommit = lastCommit{q.Fence, q.Step, answer}
	r.touch(now)
	s.feed.changed(r.ID)
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
	kind, events := q.Then.Kind, len(q.Events)
	switch {
	case kind == journal.ThenPark && r.arrived(q):
		kind = journal.ThenContinue
	case kind == journal.ThenPark && q.Then.Interaction != nil:
		if err := r.mayAsk(q.Then.Interaction.RequestID, q.Consumed); err != nil {
			return "", err
		}
		events++
	case kind == journal.ThenSuspend:
		events++
	}
	if r.CancelRequested || kind == journal.ThenEnd {
		return kind, nil
	}
	return kind, s.room(r, events)
}

// arrived reports whether the result that the commit would wait for is already there.
func (r *row) arrived(q journal.Commit) bool {
	awaited := q.Then.Await
	if awaited == "" && q.Then.Interaction != nil {
		awaited = q.Then.Interaction.RequestID
	}
	_, there := r.inbox[awaited]
	return awaited != "" && there && !slices.Contains(q.Consumed, awaited)
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

// keep stores what the step achieved and ends the claim.
func (s *Store) keep(r *row, q journal.Commit, nowMs int64) {
	r.Step++
	r.Node = q.Node
	r.checkpoints = append(r.checkpoints, append([]byte{}, q.Checkpoint...))
	c := s.conversations[r.ConversationID]
	c.messages = append(c.messages, cloneBytes(q.Messages)...)
	for _, plan := range q.Plan {
		if entry := r.ledger[plan.CallID]; entry == nil || entry.State != journal.Done {
			r.ledger[plan.CallID] = &journal.LedgerEntry{
				CallID: plan.CallID, State: journal.Planned, Intent: append([]byte{}, plan.Intent...),
			}
		}
	}
	for _, request := range q.Consumed {
		r.consume(request)
	}
	r.batch, r.readsHistory = slices.Clone(q.Batch), q.ReadsHistory
	r.Usage = q.Usage
	r.Attempts, r.Reclaims, r.ReclaimWorkers, r.NotBeforeMs = 0, 0, nil, 0
	r.Wait, r.Claim = nil, nil
	r.write(nowMs, q.Events...)
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
