package memjournal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// spawned is a child as its parent's row keeps it.
type spawned struct {
	id   execution.ID
	call execution.CallID
}

// Spawn implements journal.Steps.
func (s *Store) Spawn(ctx context.Context, q journal.Spawn) (journal.Reservation, error) {
	const operation = "spawn"
	if err := journal.CheckSpawn(q); err != nil {
		return journal.Reservation{}, fail(operation, q.Execution, err)
	}
	now, unlock, err := s.lock(ctx, operation, q.Execution)
	if err != nil {
		return journal.Reservation{}, err
	}
	defer unlock()
	parent, err := s.row(q.Execution)
	if err != nil {
		return journal.Reservation{}, fail(operation, q.Execution, err)
	}
	existing, err := s.guardSpawn(parent, q)
	if err != nil {
		return journal.Reservation{}, fail(operation, q.Execution, err)
	}
	if existing != nil {
		return journal.Reservation{Execution: existing.snapshot(), Tasks: existing.standing(now)}, nil
	}
	child := newChild(parent, q.Child, now)
	s.rows[child.ID] = child
	child.write(now, execution.ExecutionQueued{})
	tasks := s.join(child, execution.BusyReject, now)
	child.Version, child.UpdatedAtMs = 1, now
	parent.children = append(parent.children, spawned{child.ID, q.Child.Parent.Call})
	parent.Children = len(parent.children)
	parent.touch(now)
	s.feed.changed(parent)
	s.feed.changed(child)
	return journal.Reservation{Created: true, Execution: child.snapshot(), Tasks: tasks}, nil
}

// guardSpawn refuses, or finds the child that this very call has spawned before.
func (s *Store) guardSpawn(parent *row, q journal.Spawn) (existing *row, err error) {
	if !parent.holds(q.Fence) {
		return nil, journal.ErrFenced
	}
	if err := in(parent, journal.MoveSpawn); err != nil {
		return nil, err
	}
	n, call := q.Child, q.Child.Parent.Call
	i := slices.IndexFunc(parent.children, func(c spawned) bool { return c.call == call || c.id == n.ID })
	switch {
	case i >= 0 && parent.children[i] != spawned{n.ID, call}:
		return nil, fmt.Errorf("%w: call %s has another child", journal.ErrConflict, call)
	case i >= 0 && s.rows[n.ID] == nil:
		return nil, journal.ErrGone
	case i >= 0:
		return s.rows[n.ID], nil
	case n.Caller != (execution.CallerScope{}) && n.Caller != parent.Caller:
		return nil, fmt.Errorf("%w: the child of another caller", journal.ErrConflict)
	case s.rows[n.ID] != nil:
		return nil, fmt.Errorf("%w: the id is taken", journal.ErrConflict)
	case parent.CancelRequested:
		return nil, fmt.Errorf("%w: a cancel is recorded", journal.ErrState)
	case len(parent.children) >= journal.MaxChildren:
		return nil, fmt.Errorf("%w: %d children", journal.ErrLimit, len(parent.children))
	case s.conversations[journal.ConversationName(parent.Caller.Tenant, n.ConversationID)] != nil:
		return nil, fmt.Errorf("%w: the conversation is there", journal.ErrConflict)
	}
	return nil, nil
}

// newChild is the row of a child: what it leaves empty of caller, priority, queue and retention is its parent's.
func newChild(parent *row, n journal.NewExecution, nowMs int64) *row {
	n.Caller = parent.Caller
	if n.Retention == 0 {
		n.Retention = parent.retention
	}
	if n.Queue == "" && n.Request.Priority == "" {
		n.Queue = parent.Queue
	}
	child := newRow(n, nowMs)
	if n.Request.Priority == "" {
		child.Priority = parent.Priority
	}
	child.Parent = clone(n.Parent)
	return child
}

// deliver brings the parent of a row that has ended its result. A parent that waits for nothing else goes on.
func (s *Store) deliver(r *row, nowMs int64) []execution.Task {
	if r.Parent == nil {
		return nil
	}
	parent := s.rows[r.Parent.Execution]
	if parent == nil || parent.State.Terminal() {
		return nil
	}
	result, err := json.Marshal(journal.ResultOf(&r.Execution))
	if err != nil {
		panic(err) // unreachable: the outcome was stored
	}
	parent.inbox[execution.ChildRequest(r.Parent.Call)] = result
	var tasks []execution.Task
	parked := parent.State == execution.Running && parent.Claim == nil && parent.index == indexDue
	if parked && parent.complete() {
		parent.NotBeforeMs = 0
		tasks = s.wake(parent, nowMs, nowMs)
	}
	parent.touch(nowMs)
	s.feed.changed(parent)
	return tasks
}

// complete reports whether the row waits for entries of its inbox, and all of them are there.
func (r *row) complete() bool { return len(r.await) > 0 && r.there(r.await, nil) }

// there reports whether the inbox has all of the requests, without those that are about to be consumed.
func (r *row) there(requests, consumed []execution.RequestID) bool {
	for _, request := range requests {
		if _, ok := r.inbox[request]; !ok || slices.Contains(consumed, request) {
			return false
		}
	}
	return true
}

// cancelChildren asks the children of a row that has ended to end as well. One that nobody holds is due at once: a reaper
// ends it, so that no write grows with the tree.
func (s *Store) cancelChildren(r *row, nowMs int64) {
	for _, child := range r.children {
		c := s.rows[child.id]
		if c == nil || in(c, journal.MoveCancel) != nil || c.CancelRequested {
			continue
		}
		c.CancelRequested, c.cancelMs = true, nowMs
		if c.live(nowMs) {
			c.write(nowMs, execution.CancelRequested{})
			s.feed.requested(c.Claim.Worker, c.ID)
		} else {
			c.place(indexDue, nowMs)
		}
		c.touch(nowMs)
		s.feed.changed(c)
	}
}

// Children implements journal.Reader.
func (s *Store) Children(ctx context.Context, id execution.ID) ([]journal.Child, error) {
	r, unlock, err := s.read(ctx, "children", id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := make([]journal.Child, 0, len(r.children))
	for _, c := range r.children {
		child := journal.Child{ID: c.id, Call: c.call}
		if row := s.rows[c.id]; row != nil {
			child.Agent, child.State = row.Agent, row.State
		}
		out = append(out, child)
	}
	return out, nil
}
