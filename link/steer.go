package link

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Cancel implements RuntimeLink.
func (l *session) Cancel(ctx context.Context, id execution.ID) (execution.Steered, error) {
	return l.command(ctx, "cancel", id, l.service.cfg.Journal.Cancel)
}

// Pause implements RuntimeLink.
func (l *session) Pause(ctx context.Context, id execution.ID) (execution.Steered, error) {
	return l.command(ctx, "pause", id, l.service.cfg.Journal.Pause)
}

// command steers an execution by one call of the journal and hands over what follows.
func (l *session) command(
	ctx context.Context, name string, id execution.ID,
	do func(context.Context, execution.ID) (journal.Change, error),
) (execution.Steered, error) {
	if _, err := l.steer(ctx, name, id); err != nil {
		return execution.Steered{}, err
	}
	return l.apply(ctx, name, id, do)
}

// apply is command for a caller that may steer the execution.
func (l *session) apply(
	ctx context.Context, name string, id execution.ID,
	do func(context.Context, execution.ID) (journal.Change, error),
) (execution.Steered, error) {
	change, err := do(ctx, id)
	if errors.Is(err, journal.ErrState) {
		return execution.Steered{}, l.service.wrongState(ctx, name, id, err)
	}
	if err != nil {
		return execution.Steered{}, l.service.problem(ctx, name+" "+string(id), err)
	}
	l.service.enqueue(ctx, change.Tasks)
	return execution.Steered{View: change.Execution.View(), Changed: change.Changed}, nil
}

// wrongState names the state that does not allow the command.
func (s *Service) wrongState(ctx context.Context, command string, id execution.ID, err error) error {
	row, readErr := s.cfg.Journal.Get(ctx, id)
	if readErr != nil {
		return s.problem(ctx, command+" "+string(id), err)
	}
	if row.State.Terminal() {
		return execution.NewAPIError(execution.ExecutionEnded, "the execution is %s", row.State).In("id").Because(err)
	}
	return execution.NewAPIError(execution.Conflict,
		"the execution is %s: there is nothing to %s", row.State, command).In("id").Because(err)
}
