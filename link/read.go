package link

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Execution implements RuntimeLink.
func (l *session) Execution(ctx context.Context, id execution.ID) (execution.View, error) {
	row, err := l.see(ctx, "get", id)
	if err != nil {
		return execution.View{}, err
	}
	return l.service.view(ctx, &row)
}

// Events implements RuntimeLink.
func (l *session) Events(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (execution.EventPage, error) {
	if limit < 1 {
		return execution.EventPage{}, invalid("limit", "must be at least 1")
	}
	if _, err := l.see(ctx, "events", id); err != nil {
		return execution.EventPage{}, err
	}
	return l.service.gather(ctx, id, after, min(limit, MaxLimit))
}

// maxPageBytes is about where a page of events ends, however few they are: no log is too large to be read.
const maxPageBytes = 4 << 20

// gather reads small pages until it has limit events or maxPageBytes.
func (s *Service) gather(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (execution.EventPage, error) {
	out := execution.EventPage{Events: []execution.Event{}, NextAfter: after, HasMore: true}
	for bytes := 0; out.HasMore && len(out.Events) < limit && bytes < maxPageBytes; {
		page, err := s.page(ctx, id, out.NextAfter, min(limit-len(out.Events), readPage))
		if err != nil {
			return execution.EventPage{}, err
		}
		for _, event := range page.Events {
			data, err := event.MarshalJSON()
			if err != nil {
				return execution.EventPage{}, s.problem(ctx, "events "+string(id), err)
			}
			if bytes += len(data); bytes > maxPageBytes && len(out.Events) > 0 {
				break
			}
			out.Events = append(out.Events, event)
			out.NextAfter = event.Sequence
		}
		out.HasMore = out.NextAfter < page.Last
	}
	return out, nil
}

// maxSequence is the largest number that every store can count to.
const maxSequence = 1 << 53

// page reads a page and refuses a cursor that the log has not reached: it comes from another log, or from one that a
// failover cut short, and waiting at it would skip events.
func (s *Service) page(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (journal.EventPage, error) {
	if after > maxSequence {
		return journal.EventPage{}, execution.NewAPIError(execution.Conflict, "no log is that long").In("after")
	}
	page, err := s.cfg.Journal.EventPage(ctx, id, after, limit)
	if err != nil {
		return page, s.problem(ctx, "events "+string(id), err)
	}
	if after > page.Last {
		return page, execution.NewAPIError(execution.Conflict,
			"the log ends at %d, before %d", page.Last, after).In("after")
	}
	for i := range page.Events {
		if unreadable(page.Events[i].Payload) {
			s.cfg.Logger.WarnContext(ctx, "an event cannot be read by this release", "execution", id, "sequence", page.Events[i].Sequence)
		}
	}
	return page, nil
}

// unreadable reports whether an event is stored and cannot be read. Any may be behind it.
func unreadable(payload execution.Payload) bool {
	return payload.EventType() == execution.TypeUnreadable
}

// Wait implements RuntimeLink.
func (l *session) Wait(
	ctx context.Context, id execution.ID, version uint64, d time.Duration,
) (execution.View, error) {
	if d < 0 {
		return execution.View{}, invalid("wait", "must not be negative")
	}
	row, err := l.see(ctx, "wait", id)
	if err != nil {
		return execution.View{}, err
	}
	first := row.State
	done := func() bool {
		changed := row.State != first
		if version != 0 {
			changed = row.Version != version
		}
		return changed || row.State.Terminal()
	}
	if d == 0 || done() {
		return l.service.view(ctx, &row)
	}
	return l.service.await(ctx, id, min(d, MaxWait), &row, done)
}

// await reads the row at every hint and every Reread until done or until d has passed.
func (s *Service) await(
	ctx context.Context, id execution.ID, d time.Duration, row *journal.Execution, done func() bool,
) (execution.View, error) {
	// Subscribe, then read: a change between the caller's look and the subscription is seen by the first read.
	subscription, err := s.cfg.Journal.Follow(ctx, id)
	if err != nil {
		return execution.View{}, s.problem(ctx, "wait "+string(id), err)
	}
	defer func() { _ = subscription.Close() }() // nothing more is expected of it
	end := time.NewTimer(d)
	defer end.Stop()
	again := time.NewTicker(s.cfg.Reread)
	defer again.Stop()
	for over := false; ; {
		if *row, err = s.cfg.Journal.Get(ctx, id); err != nil {
			return execution.View{}, s.problem(ctx, "wait "+string(id), err)
		}
		if over || done() {
			return s.view(ctx, row)
		}
		if over, err = hint(ctx, subscription.Signals(), again.C, end.C); err != nil {
			return execution.View{}, err
		}
	}
}

// hint waits until the log should be read again. Frames say nothing about the log.
func hint(
	ctx context.Context, signals <-chan journal.Signal, again, end <-chan time.Time,
) (over bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-end:
			return true, nil
		case <-again:
			return false, nil
		case signal, open := <-signals:
			if !open {
				signals = nil // closed early: the ticker goes on
			} else if signal.Frame == nil {
				return false, nil
			}
		}
	}
}
