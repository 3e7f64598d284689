package link

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Queues looks at where tasks stand.
type Queues interface {
	// Place says where a task stands and how many live workers serve its queue. Its cost does not grow with the queue.
	Place(ctx context.Context, task execution.Task) (execution.Place, error)
}

// failuresIn is how many events are looked through, from the end of the log, for the last failed attempt.
const failuresIn = 50

// Why implements RuntimeLink.
func (l *session) Why(ctx context.Context, id execution.ID) (execution.Why, error) {
	if _, err := execution.ParseID(string(id)); err != nil {
		return execution.Why{}, invalid("id", "not an execution id").Because(err)
	}
	seen, err := l.service.cfg.Journal.Inspect(ctx, id)
	if err != nil {
		return execution.Why{}, l.service.problem(ctx, "why "+string(id), err)
	}
	if err := l.maySee(&seen.Execution); err != nil {
		return execution.Why{}, err
	}
	known := facts{Inspection: seen}
	if l.service.cfg.RemoteTask != nil && len(seen.Execution.Cleanup) > 0 {
		known.task, known.taskSinceMs = l.service.cfg.RemoteTask(seen.Execution.Cleanup)
	}
	if known.retried, err = l.service.lastRetry(ctx, &seen.Execution); err != nil {
		return execution.Why{}, l.service.problem(ctx, "why "+string(id), err)
	}
	if known.family, err = l.service.family(ctx, &seen.Execution); err != nil {
		return execution.Why{}, l.service.problem(ctx, "why "+string(id), err)
	}
	if known.newer, err = l.service.newer(ctx, &seen.Execution); err != nil {
		return execution.Why{}, l.service.problem(ctx, "why "+string(id), err)
	}
	if seen.Task != nil {
		known.place = l.service.place(ctx, *seen.Task)
	}
	return known.explain(), nil
}

// lastRetry is the newest event of a failed attempt at the row's step, nil when there was none, or so much has happened
// since that it is not among the last events.
func (s *Service) lastRetry(ctx context.Context, row *journal.Execution) (*execution.Event, error) {
	if row.Attempts == 0 {
		return nil, nil
	}
	after := execution.Sequence(0)
	if row.LastSequence > failuresIn {
		after = row.LastSequence - failuresIn
	}
	page, err := s.cfg.Journal.EventPage(ctx, row.ID, after, failuresIn)
	if err != nil {
		return nil, err
	}
	for i := len(page.Events) - 1; i >= 0; i-- {
		if page.Events[i].Payload.EventType() == execution.TypeRetryScheduled {
			return &page.Events[i], nil
		}
	}
	return nil, nil
}

// newer reports whether the newest checkpoint of an execution that a worker is to go on with is of a later release.
func (s *Service) newer(ctx context.Context, row *journal.Execution) (bool, error) {
	if row.State != execution.Queued && row.State != execution.Running {
		return false, nil
	}
	stored, err := s.cfg.Journal.Checkpoints(ctx, row.ID, row.Step, 1)
	if err != nil || len(stored) == 0 {
		return false, err
	}
	_, unread := s.cfg.Boundary(stored[0].Data)
	return errors.Is(unread, execution.ErrNewer), nil
}

// place is nil when nothing can be found out: the rest of the answer is worth having all the same.
func (s *Service) place(ctx context.Context, task execution.Task) *execution.Place {
	if s.cfg.Queues == nil {
		return nil
	}
	place, err := s.cfg.Queues.Place(ctx, task)
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "the place of a task cannot be found out", "execution", task.Execution, "error", err)
		return nil
	}
	return &place
}
