package link

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// Cancel implements RuntimeLink.
func (l *session) Cancel(ctx context.Context, id execution.ID) (execution.Steered, error) {
	if _, err := l.steer(ctx, "cancel", id); err != nil {
		return execution.Steered{}, err
	}
	change, err := l.service.cfg.Journal.Cancel(ctx, id)
	if err != nil {
		return execution.Steered{}, l.service.problem(ctx, "cancel "+string(id), err)
	}
	l.service.enqueue(ctx, change.Tasks)
	return execution.Steered{View: change.Execution.View(), Changed: change.Changed}, nil
}
