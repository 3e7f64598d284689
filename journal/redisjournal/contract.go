package redisjournal

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Transition moves the state without an event. See journal.ExecutionJournal.
func (s *Store) Transition(
	ctx context.Context, hold journal.Hold, expected []execution.State, next execution.State,
) (journal.Execution, error) {
	const operation = "transition"
	if err := journal.CheckExpected(expected); err != nil {
		return journal.Execution{}, refusal(operation, string(hold.Execution), err)
	}
	moves := ""
	if next == execution.Finalizing {
		moves = allowed(journal.MoveFinalize)
	}
	args := append(heldBy(hold), states(expected), moves)
	return row(operation, hold.Execution, newReplyOf(s.run(ctx, s.scripts.transition, hold.Execution, args...)))
}

// AttachDelegation stores the delegation. See journal.ExecutionJournal.
func (s *Store) AttachDelegation(
	ctx context.Context, hold journal.Hold, delegation journal.Delegation,
) (journal.Execution, error) {
	const operation = "attach delegation"
	if err := journal.CheckDelegation(delegation); err != nil {
		return journal.Execution{}, refusal(operation, string(hold.Execution), err)
	}
	args := append(heldBy(hold), allowed(journal.MoveAttachDelegation), string(delegation.LeaseRef),
		strconv.FormatUint(delegation.ExpiresAtSeconds, 10), strconv.FormatUint(delegation.Revision, 10),
		bit(delegation.CleanupComplete))
	return row(operation, hold.Execution, newReplyOf(s.run(ctx, s.scripts.attachDelegation, hold.Execution, args...)))
}

// Finish ends the execution. See journal.ExecutionJournal.
func (s *Store) Finish(
	ctx context.Context, hold journal.Hold, expected []execution.State, end journal.Ending,
) (journal.Mutation, error) {
	const operation = "finish"
	if err := journal.CheckExpected(expected); err != nil {
		return journal.Mutation{}, refusal(operation, string(hold.Execution), err)
	}
	if err := journal.CheckEnding(end); err != nil {
		return journal.Mutation{}, refusal(operation, string(hold.Execution), err)
	}
	return s.move(ctx, operation, hold, expected, end, journal.EndingPayload(end))
}

// TransitionWithEvent moves the state and writes the event of the move. See journal.ExecutionJournal.
func (s *Store) TransitionWithEvent(
	ctx context.Context, hold journal.Hold, expected []execution.State, end journal.Ending, payload execution.Payload,
) (journal.Mutation, error) {
	const operation = "transition with event"
	if err := journal.CheckExpected(expected); err != nil {
		return journal.Mutation{}, refusal(operation, string(hold.Execution), err)
	}
	if err := journal.CheckPayload(end, payload); err != nil {
		return journal.Mutation{}, refusal(operation, string(hold.Execution), err)
	}
	return s.move(ctx, operation, hold, expected, end, payload)
}

func (s *Store) move(
	ctx context.Context, operation string, hold journal.Hold, expected []execution.State, end journal.Ending,
	payload execution.Payload,
) (journal.Mutation, error) {
	var e encoder
	move := journal.MoveFinish
	if !end.State.Terminal() {
		move = journal.MoveStart
	}
	field, blob := e.result(end)
	args := append(heldBy(hold), operation, states(expected), allowed(move), string(end.State), field, blob,
		e.event(payload))
	if e.err != nil {
		return journal.Mutation{}, refusal(operation, string(hold.Execution), e.err)
	}
	return mutation(operation, hold.Execution, newReplyOf(s.run(ctx, s.scripts.finish, hold.Execution, args...)))
}

// AppendEvent writes an event without a change of state. See journal.ExecutionJournal.
func (s *Store) AppendEvent(
	ctx context.Context, hold journal.Hold, payload execution.Payload,
) (execution.Event, error) {
	event, err := s.appendEvent(ctx, hold, payload)
	if err != nil {
		return execution.Event{}, refusal("append event", string(hold.Execution), err)
	}
	return event, nil
}

func (s *Store) appendEvent(
	ctx context.Context, hold journal.Hold, payload execution.Payload,
) (execution.Event, error) {
	if err := journal.CheckEvents([]execution.Payload{payload}); err != nil {
		return execution.Event{}, err
	}
	var e encoder
	args := append(heldBy(hold), allowed(journal.MoveAppendEvent), e.event(payload))
	if e.err != nil {
		return execution.Event{}, e.err
	}
	r, err := newReply(s.run(ctx, s.scripts.appendEvent, hold.Execution, args...))
	if err != nil {
		return execution.Event{}, err
	}
	event := r.event(1, r.number(0))
	return event, r.err
}

// BeginInteraction opens an interaction and parks the execution. See journal.ExecutionJournal.
func (s *Store) BeginInteraction(
	ctx context.Context, hold journal.Hold, interaction execution.Interaction,
) (journal.Mutation, error) {
	const operation = "begin interaction"
	if err := journal.CheckInteraction(interaction); err != nil {
		return journal.Mutation{}, refusal(operation, string(hold.Execution), err)
	}
	var e encoder
	q := e.question(interaction)
	args := append(heldBy(hold), allowed(journal.MoveBeginInteraction))
	args = append(append(args, q.arguments()...), q.event)
	if e.err != nil {
		return journal.Mutation{}, refusal(operation, string(hold.Execution), e.err)
	}
	return mutation(operation, hold.Execution,
		newReplyOf(s.run(ctx, s.scripts.beginInteraction, hold.Execution, args...)))
}

// CompleteInteraction says that the answer was used. See journal.ExecutionJournal.
func (s *Store) CompleteInteraction(
	ctx context.Context, hold journal.Hold, request execution.RequestID,
) (journal.Execution, error) {
	args := append(heldBy(hold), allowed(journal.MoveCompleteInteraction), string(request))
	return row("complete interaction", hold.Execution,
		newReplyOf(s.run(ctx, s.scripts.completeInteraction, hold.Execution, args...)))
}

// row decodes a reply that is a row.
func row(operation string, id execution.ID, a answer) (journal.Execution, error) {
	if a.failed != nil {
		return journal.Execution{}, refusal(operation, string(id), a.failed)
	}
	decoded, err := decodeRow(a.reply)
	if err != nil {
		return journal.Execution{}, refusal(operation, string(id), fmt.Errorf("row: %w", err))
	}
	return decoded, nil
}
