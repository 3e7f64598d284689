package link

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Delete implements RuntimeLink.
func (l *session) Delete(ctx context.Context, id execution.ID) error {
	if _, err := l.steer(ctx, "delete", id); err != nil {
		return err
	}
	err := l.service.cfg.Journal.Delete(ctx, id)
	switch {
	case err == nil, errors.Is(err, journal.ErrNotFound): // it was there a moment ago: the answer of a first try was lost
		return nil
	case errors.Is(err, journal.ErrCleanupOpen):
		return execution.NewAPIError(execution.Conflict,
			"the execution's delegation is not revoked yet: its clean-up must end first").In("id").Because(err)
	case errors.Is(err, journal.ErrState):
		return l.stillOpen(ctx, id, err)
	default:
		return l.service.problem(ctx, "delete "+string(id), err)
	}
}

// stillOpen names the state of an execution that cannot be deleted.
func (l *session) stillOpen(ctx context.Context, id execution.ID, cause error) error {
	row, err := l.service.cfg.Journal.Get(ctx, id)
	if err != nil {
		return l.service.problem(ctx, "delete "+string(id), err)
	}
	return execution.NewAPIError(execution.Conflict,
		"the execution is %s: it must have ended, by a cancel if need be", row.State).In("id").Because(cause)
}
