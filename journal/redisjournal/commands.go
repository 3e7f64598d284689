package redisjournal

import (
	"context"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// CommitInteractionInput answers the open interaction. See journal.Commands.
func (s *Store) CommitInteractionInput(
	ctx context.Context, id execution.ID, input journal.InteractionInput,
) (journal.Mutation, error) {
	var e encoder
	args := []any{
		string(input.OperationID), string(input.RequestID), input.Response,
		e.blob(storedReceipt{RequestID: input.RequestID, Response: input.Response}), allowed(journal.MoveInput),
		e.event(execution.InteractionReceived{RequestID: input.RequestID}),
	}
	if e.err != nil {
		return journal.Mutation{}, refusal("input", string(id), e.err)
	}
	return mutation("input", id, newReplyOf(s.run(ctx, s.scripts.input, id, args...)))
}

// Cancel ends the execution or records the request. See journal.Commands.
func (s *Store) Cancel(ctx context.Context, id execution.ID) (journal.Change, error) {
	var e encoder
	args := []any{allowed(journal.MoveCancel), terminalStates(), e.event(execution.CancelRequested{})}
	return change("cancel", id, newReplyOf(s.run(ctx, s.scripts.cancel, id, args...)))
}

// Pause suspends the execution or records the request. See journal.Commands.
func (s *Store) Pause(ctx context.Context, id execution.ID) (journal.Change, error) {
	return change("pause", id, newReplyOf(s.run(ctx, s.scripts.pause, id, allowed(journal.MovePause))))
}

// Resume takes a suspended execution back to where it was. See journal.Commands.
func (s *Store) Resume(
	ctx context.Context, id execution.ID, resumption journal.Resumption,
) (journal.Change, error) {
	var e encoder
	unchanged := states([]execution.State{execution.Queued, execution.Running, execution.WaitingForInput})
	args := []any{
		allowed(journal.MoveResume), unchanged, e.event(execution.ExecutionResumed{}), resumption.Overrides,
		optional(resumption.Deadline.Milliseconds()),
	}
	return change("resume", id, newReplyOf(s.run(ctx, s.scripts.resume, id, args...)))
}

// CompleteDelegationCleanup marks the delegation revoked. See journal.Commands.
func (s *Store) CompleteDelegationCleanup(
	ctx context.Context, id execution.ID, lease journal.LeaseRef,
) (journal.Execution, error) {
	answer := newReplyOf(s.run(ctx, s.scripts.completeDelegation, id,
		string(lease), allowed(journal.MoveCompleteDelegation)))
	changed, err := change("complete delegation cleanup", id, answer)
	return changed.Execution, err
}

// answer is a script's reply or its error, on its way to be decoded.
type answer struct {
	*reply
	failed error
}

func newReplyOf(value any, err error) answer {
	r, err := newReply(value, err)
	return answer{reply: r, failed: err}
}

// change decodes {changed, pending, row, tasks}.
func change(operation string, id execution.ID, a answer) (journal.Change, error) {
	if a.failed != nil {
		return journal.Change{}, refusal(operation, string(id), a.failed)
	}
	changed := journal.Change{Changed: a.flag(0), Pending: a.flag(1), Execution: a.row(2), Tasks: a.tasks(3)}
	if a.err != nil {
		return journal.Change{}, refusal(operation, string(id), a.err)
	}
	return changed, nil
}

// mutation decodes {replayed, sequence, event, row, tasks}.
func mutation(operation string, id execution.ID, a answer) (journal.Mutation, error) {
	if a.failed != nil {
		return journal.Mutation{}, refusal(operation, string(id), a.failed)
	}
	mutated := journal.Mutation{
		Replayed: a.flag(0), Event: a.event(2, a.number(1)), Execution: a.row(3), Tasks: a.tasks(4),
	}
	if a.err != nil {
		return journal.Mutation{}, refusal(operation, string(id), a.err)
	}
	return mutated, nil
}
