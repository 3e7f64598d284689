package redisjournal

import (
	"context"
	"strconv"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Delegate attaches the lease that an execution was reserved for. See journal.Commands.
func (s *Store) Delegate(ctx context.Context, id execution.ID, delegation journal.Delegation) (journal.Change, error) {
	const operation = "delegate"
	if err := journal.CheckDelegation(delegation); err != nil {
		return journal.Change{}, refusal(operation, string(id), err)
	}
	return change(operation, id, newReplyOf(s.run(ctx, s.scripts.delegate, id, allowed(journal.MoveDelegate),
		string(delegation.LeaseRef), strconv.FormatUint(delegation.ExpiresAtSeconds, 10),
		strconv.FormatUint(delegation.Revision, 10))))
}

// RefuseDelegation ends an execution that waits for its delegation. See journal.Commands.
func (s *Store) RefuseDelegation(ctx context.Context, id execution.ID, failure execution.Failure) (journal.Change, error) {
	const operation = "refuse delegation"
	var e encoder
	end := journal.Ending{State: execution.Failed, Failure: &failure}
	blob, payload := e.blob(failure), e.event(journal.EndingPayload(end))
	if e.err != nil {
		return journal.Change{}, refusal(operation, string(id), e.err)
	}
	return change(operation, id, newReplyOf(s.run(ctx, s.scripts.refuseDelegation, id, allowed(journal.MoveRefuseDelegation),
		terminalStates(), blob, payload)))
}
