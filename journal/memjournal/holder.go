package memjournal

import (
	"context"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// numbered runs a numbered call of a holder: replay, fence, number, then f, whose writes it completes. The caller gets
// the row under the mutex and must unlock.
type numbered struct {
	row      *row
	nowMs    int64
	replayed bool
	call     *lastCall // the answer to keep, or the one that was kept
}

// hold begins a numbered call. On success the store is locked until unlock.
func (s *Store) hold(ctx context.Context, method string, h journal.Hold) (n numbered, unlock func(), err error) {
	now, unlock, err := s.lock(ctx, method, h.Execution)
	if err != nil {
		return numbered{}, nil, err
	}
	r, err := s.row(h.Execution)
	if err == nil {
		n = numbered{row: r, nowMs: now}
		n.replayed, err = r.number(method, h)
	}
	if err != nil {
		unlock()
		return numbered{}, nil, fail(method, h.Execution, err)
	}
	n.call = &r.lastCall
	if !n.replayed {
		n.call = &lastCall{fence: h.Fence, operation: h.Operation, method: method}
	}
	return n, unlock, nil
}

// number is the first guard of every numbered call.
func (r *row) number(method string, h journal.Hold) (replayed bool, err error) {
	last := r.lastCall
	same := h.Fence != "" && last.fence == h.Fence && last.operation == h.Operation && last.method == method
	if same && (method != methodRenew || r.holds(h.Fence)) {
		return true, nil
	}
	if !r.holds(h.Fence) {
		return false, journal.ErrFenced
	}
	if h.Operation == 0 || last.fence == h.Fence && h.Operation <= last.operation {
		return false, fmt.Errorf("%w: operation %d is not the next", journal.ErrConflict, h.Operation)
	}
	return false, nil
}

// done keeps the call's answer and tells those who follow.
func (s *Store) done(n numbered, visible bool) {
	if visible {
		n.row.touch(n.nowMs)
	}
	n.row.lastCall = *n.call
	s.feed.changed(n.row)
}

// expect compares the state and asks the table.
func expect(r *row, expected []execution.State, move journal.Move) error {
	if !slices.Contains(expected, r.State) {
		return fmt.Errorf("%w: %s is not expected", journal.ErrState, r.State)
	}
	return in(r, move)
}

// Transition implements journal.ExecutionJournal.
func (s *Store) Transition(
	ctx context.Context, h journal.Hold, expected []execution.State, next execution.State,
) (journal.Execution, error) {
	const method = "transition"
	if err := journal.CheckExpected(expected); err != nil {
		return journal.Execution{}, fail(method, h.Execution, err)
	}
	n, unlock, err := s.hold(ctx, method, h)
	if err != nil {
		return journal.Execution{}, err
	}
	defer unlock()
	r := n.row
	if n.replayed {
		return r.snapshot(), nil
	}
	if err := expect(r, expected, journal.MoveFinalize); err != nil {
		return journal.Execution{}, fail(method, h.Execution, err)
	}
	if next != execution.Finalizing {
		return journal.Execution{}, fail(method, h.Execution, fmt.Errorf("%w: %s needs its event", journal.ErrState, next))
	}
	s.finalize(r, n.nowMs, journal.Ending{})
	s.done(n, true)
	return r.snapshot(), nil
}

// Finish implements journal.ExecutionJournal.
func (s *Store) Finish(
	ctx context.Context, h journal.Hold, expected []execution.State, end journal.Ending,
) (journal.Mutation, error) {
	const method = "finish"
	if err := journal.CheckExpected(expected); err != nil {
		return journal.Mutation{}, fail(method, h.Execution, err)
	}
	if err := journal.CheckEnding(end); err != nil {
		return journal.Mutation{}, fail(method, h.Execution, err)
	}
	return s.move(ctx, method, h, expected, end)
}

// TransitionWithEvent implements journal.ExecutionJournal.
func (s *Store) TransitionWithEvent(
	ctx context.Context, h journal.Hold, expected []execution.State, end journal.Ending, payload execution.Payload,
) (journal.Mutation, error) {
	const method = "transition with event"
	if err := journal.CheckExpected(expected); err != nil {
		return journal.Mutation{}, fail(method, h.Execution, err)
	}
	if err := journal.CheckPayload(end, payload); err != nil {
		return journal.Mutation{}, fail(method, h.Execution, err)
	}
	return s.move(ctx, method, h, expected, end)
}

// move ends the execution, or writes the event of a start.
func (s *Store) move(
	ctx context.Context, method string, h journal.Hold, expected []execution.State, end journal.Ending,
) (journal.Mutation, error) {
	n, unlock, err := s.hold(ctx, method, h)
	if err != nil {
		return journal.Mutation{}, err
	}
	defer unlock()
	r := n.row
	if n.replayed {
		return r.mutation(n.call.sequence, true, n.call.tasks), nil
	}
	if end.State == execution.Running {
		err = s.start(r, expected, n.nowMs)
	} else if err = expect(r, expected, journal.MoveFinish); err == nil {
		r.Claim = nil
		n.call.tasks = s.end(r, n.nowMs, end)
	}
	if err != nil {
		return journal.Mutation{}, fail(method, h.Execution, err)
	}
	n.call.sequence = r.LastSequence
	s.done(n, true)
	return r.mutation(n.call.sequence, false, n.call.tasks), nil
}

func (s *Store) start(r *row, expected []execution.State, nowMs int64) error {
	if err := expect(r, expected, journal.MoveStart); err != nil {
		return err
	}
	if err := s.room(r, 1); err != nil {
		return err
	}
	r.write(nowMs, execution.ExecutionStarted{})
	return nil
}

// AppendEvent implements journal.ExecutionJournal.
func (s *Store) AppendEvent(ctx context.Context, h journal.Hold, payload execution.Payload) (execution.Event, error) {
	const method = "append event"
	if err := journal.CheckEvents([]execution.Payload{payload}); err != nil {
		return execution.Event{}, fail(method, h.Execution, err)
	}
	n, unlock, err := s.hold(ctx, method, h)
	if err != nil {
		return execution.Event{}, err
	}
	defer unlock()
	r := n.row
	if n.replayed {
		return r.event(n.call.sequence), nil
	}
	if err := in(r, journal.MoveAppendEvent); err != nil {
		return execution.Event{}, fail(method, h.Execution, err)
	}
	if err := s.room(r, 1); err != nil {
		return execution.Event{}, fail(method, h.Execution, err)
	}
	r.write(n.nowMs, payload)
	n.call.sequence = r.LastSequence
	s.done(n, true)
	return r.event(r.LastSequence), nil
}
