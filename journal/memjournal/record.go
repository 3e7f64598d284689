package memjournal

import (
	"context"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Record implements journal.Steps.
func (s *Store) Record(ctx context.Context, q journal.Record) (journal.Recorded, error) {
	const operation = "record"
	if err := journal.CheckRecord(q); err != nil {
		return journal.Recorded{}, fail(operation, q.Execution, err)
	}
	now, unlock, err := s.lock(ctx, operation, q.Execution)
	if err != nil {
		return journal.Recorded{}, err
	}
	defer unlock()
	r, err := s.row(q.Execution)
	if err != nil {
		return journal.Recorded{}, fail(operation, q.Execution, err)
	}
	if !r.holds(q.Fence) {
		return journal.Recorded{}, fail(operation, q.Execution, journal.ErrFenced)
	}
	if err := in(r, journal.MoveRecord); err != nil {
		return journal.Recorded{}, fail(operation, q.Execution, err)
	}
	fresh, err := r.fresh(q)
	if err != nil {
		return journal.Recorded{}, fail(operation, q.Execution, err)
	}
	if len(fresh) > 0 {
		events := newlyTold(q, fresh)
		if err := s.room(r, ofNoCall(events)); err != nil {
			return journal.Recorded{}, fail(operation, q.Execution, err)
		}
		s.record(r, q, fresh, events, now)
	}
	return journal.Recorded{
		Entries: r.entries(q.Calls), Replayed: len(fresh) == 0, CancelRequested: r.CancelRequested,
	}, nil
}

// fresh lists the positions in q.Calls that the record would change.
func (r *row) fresh(q journal.Record) ([]int, error) {
	if q.State == journal.Started && r.CancelRequested {
		return nil, fmt.Errorf("%w: a cancel is recorded", journal.ErrState)
	}
	var fresh []int
	for i, call := range q.Calls {
		entry := r.ledger[call]
		switch {
		case entry == nil:
			return nil, fmt.Errorf("%w: call %s was never planned", journal.ErrConflict, call)
		case entry.State == journal.Done, slices.Contains(q.Calls[:i], call):
		case q.State == journal.Done || entry.StartedFence == "":
			fresh = append(fresh, i)
		case entry.StartedFence != q.Fence:
			return nil, fmt.Errorf("%w: call %s was started under another claim", journal.ErrConflict, call)
		}
	}
	return fresh, nil
}

// newlyTold are the record's events but for those of calls that it does not change.
func newlyTold(q journal.Record, fresh []int) []execution.Payload {
	var events []execution.Payload
	for _, payload := range q.Events {
		call := journal.EventCall(payload)
		if call == "" || slices.ContainsFunc(fresh, func(i int) bool { return q.Calls[i] == call }) {
			events = append(events, payload)
		}
	}
	return events
}

// ofNoCall counts the events that no call bounds: what happened to a call is written however full the log is.
func ofNoCall(events []execution.Payload) (n int) {
	for _, payload := range events {
		if journal.EventCall(payload) == "" {
			n++
		}
	}
	return n
}

func (s *Store) record(r *row, q journal.Record, fresh []int, events []execution.Payload, nowMs int64) {
	for _, i := range fresh {
		entry := r.ledger[q.Calls[i]]
		entry.State = q.State
		if q.State == journal.Started {
			entry.StartedFence = q.Fence
		} else {
			entry.Receipt = append([]byte{}, q.Receipts[i]...)
		}
	}
	r.keepBlobs(q.Blobs)
	r.write(nowMs, events...)
	if q.Usage != nil {
		r.Usage = *q.Usage
	}
	if q.State == journal.Done {
		r.touch(nowMs)
	}
	s.feed.changed(r)
}

// room refuses events that a holder writes beside those that end an execution.
func (s *Store) room(r *row, events int) error {
	if events > 0 && int(r.LastSequence)+events > s.cfg.MaxEvents-1 {
		return fmt.Errorf("%w: %d events", journal.ErrLimit, r.LastSequence)
	}
	return nil
}

// unsend takes back the started marks of this claim for calls that had no effect.
func (r *row) unsend(fence journal.Fence, calls []execution.CallID) {
	for _, call := range calls {
		entry := r.ledger[call]
		if entry != nil && entry.State == journal.Started && entry.StartedFence == fence {
			entry.State, entry.StartedFence = journal.Planned, ""
		}
	}
}
