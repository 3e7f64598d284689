package memjournal

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// admit checks that the conversation takes the execution.
func (s *Store) admit(n journal.NewExecution) error {
	if n.ID.Partition() != n.ConversationID.Partition(n.Caller.Tenant) {
		return fmt.Errorf("%w: execution and conversation are in two partitions", journal.ErrConflict)
	}
	c := s.conversations[journal.ConversationName(n.Caller.Tenant, n.ConversationID)]
	switch {
	case n.Continues() && (c == nil || c.tenant != n.Caller.Tenant || c.rows == 0):
		return journal.ErrNoConversation
	case c != nil && c.tenant != n.Caller.Tenant:
		return fmt.Errorf("%w: the conversation belongs to somebody else", journal.ErrConflict)
	case n.Fork != nil:
		return s.admitFork(n, c)
	case c == nil || c.active == "":
		return nil
	}
	switch n.Request.OnBusy {
	case execution.BusyEnqueue:
		if c.enqueued() >= s.cfg.MaxWaiting {
			return fmt.Errorf("%w: %d executions wait for their turn", journal.ErrLimit, c.enqueued())
		}
	case execution.BusyInterrupt:
		if first := s.rows[c.successor]; first != nil && len(first.messages)+len(n.Messages) > journal.MaxInherited {
			return fmt.Errorf("%w: %d messages wait already", journal.ErrLimit, len(first.messages))
		}
	case execution.BusyRollback:
		if len(c.base)+1 > journal.MaxParts {
			return fmt.Errorf("%w: a history of %d parts", journal.ErrLimit, len(c.base))
		}
	default:
		return journal.ErrConversationBusy
	}
	return nil
}

// admitFork checks that there is a history to go on from, and no conversation yet.
func (s *Store) admitFork(n journal.NewExecution, c *conversation) error {
	source := s.rows[n.Fork.From.ExecutionID]
	if source == nil || source.Caller.Tenant != n.Caller.Tenant {
		return journal.ErrNotFound
	}
	if c != nil {
		return fmt.Errorf("%w: the conversation is there", journal.ErrConflict)
	}
	if !source.entered {
		return fmt.Errorf("%w: %s waits for its turn", journal.ErrConflict, source.ID)
	}
	base, fits := s.baseOf(source, n.Fork)
	if !fits {
		return fmt.Errorf("%w: the history of %s is shorter", journal.ErrConflict, source.ID)
	}
	if len(base) > journal.MaxParts {
		return fmt.Errorf("%w: a history of %d parts", journal.ErrLimit, len(base))
	}
	return nil
}

// fork opens the conversation of a fork.
func (s *Store) fork(r *row, fork *journal.Fork) {
	if fork == nil {
		return
	}
	source := s.rows[fork.From.ExecutionID]
	c := &conversation{name: r.talk(), tenant: r.Caller.Tenant}
	c.base, _ = s.baseOf(source, fork)
	s.conversations[c.name] = c
	s.lean(c, 1)
	if len(source.blobs) > 0 {
		r.lent = append(r.lent, source.blobs)
	}
	r.lent = append(r.lent, source.lent...)
}

// join gives the row its place in its conversation.
func (s *Store) join(r *row, onBusy execution.OnBusy, nowMs int64) []execution.Task {
	c := s.conversations[r.talk()]
	if c == nil {
		c = &conversation{name: r.talk(), tenant: r.Caller.Tenant}
		s.conversations[c.name] = c
	}
	c.rows++
	if c.active == "" {
		tasks := s.activate(c, r, nowMs)
		if len(tasks) > 0 { // a new execution's task is on its way: the usual grace
			r.place(indexHandoff, nowMs+s.cfg.HandoffGrace.Milliseconds())
		}
		return tasks
	}
	r.Wait = &execution.Wait{Kind: execution.WaitSchedule}
	s.rest(r, nowMs)
	if !onBusy.Interrupts() {
		c.waiting = append(c.waiting, r.ID)
		return nil
	}
	return s.succeed(c, r, onBusy, nowMs)
}

// succeed makes the row the one that follows the active execution, which is canceled, and so is the one that was to follow
// it until now. What that one had to say is kept as if it had become active and been interrupted.
func (s *Store) succeed(c *conversation, r *row, onBusy execution.OnBusy, nowMs int64) []execution.Task {
	r.rollback = onBusy == execution.BusyRollback
	if first := s.rows[c.successor]; first != nil {
		r.rollback = first.rollback
		if onBusy == execution.BusyInterrupt {
			r.inherited = len(first.messages)
			r.messages = append(first.messages, r.messages...)
		}
		first.messages = nil
		s.end(first, nowMs, canceled())
		first.touch(nowMs)
		s.feed.changed(first)
	}
	c.successor, c.waiting = r.ID, slices.Insert(c.waiting, 0, r.ID)
	active := s.rows[c.active]
	if in(active, journal.MoveCancel) != nil {
		return nil // it is about to end
	}
	change := s.revoke(active, nowMs)
	if change.Changed {
		active.touch(nowMs)
		s.feed.changed(active)
	}
	if len(change.Tasks) > 0 { // those of the row
		r.place(indexHandoff, nowMs+s.cfg.HandoffGrace.Milliseconds())
	}
	return change.Tasks
}

// revoke cancels a row that may be canceled: it ends now unless a live claim holds it, whose holder is then asked to.
func (s *Store) revoke(r *row, nowMs int64) journal.Change {
	if !r.live(nowMs) {
		r.takeAway()
		return journal.Change{Changed: true, Tasks: s.end(r, nowMs, canceled())}
	}
	if r.CancelRequested {
		return journal.Change{Pending: true}
	}
	r.CancelRequested, r.cancelMs = true, nowMs
	r.write(nowMs, execution.CancelRequested{})
	s.feed.requested(r.Claim.Worker, r.ID)
	return journal.Change{Changed: true, Pending: true}
}

// leave takes an ended row out of its conversation.
func (s *Store) leave(r *row, nowMs int64) []execution.Task {
	c := s.conversations[r.talk()]
	if !r.Active {
		if c.successor == r.ID {
			c.successor = ""
		}
		c.waiting = slices.DeleteFunc(c.waiting, func(id execution.ID) bool { return id == r.ID })
		return nil
	}
	r.Active, c.active, c.successor = false, "", ""
	if len(c.waiting) == 0 {
		return nil
	}
	next := s.rows[c.waiting[0]]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	if next.rollback {
		c.rollBack(r)
	}
	tasks := s.activate(c, next, nowMs)
	next.touch(nowMs)
	s.feed.changed(next)
	return tasks
}

// enqueued counts those who wait in the line for no matter how long.
func (c *conversation) enqueued() int {
	if c.successor != "" {
		return len(c.waiting) - 1
	}
	return len(c.waiting)
}

// activate gives a row its conversation's turn. Its task should be standing now; a suspended row stays suspended.
func (s *Store) activate(c *conversation, r *row, nowMs int64) []execution.Task {
	c.active, r.Active, r.entered = r.ID, true, true
	c.enter(r)
	if r.State != execution.Queued {
		return nil
	}
	return s.begin(r, nowMs)
}

// begin makes a queued row runnable that is its conversation's active one: when its delegation is there, and at its time.
func (s *Store) begin(r *row, nowMs int64) []execution.Task {
	switch {
	case r.Delegation.Intended():
		r.Wait = &execution.Wait{Kind: execution.WaitAuth, UntilMs: s.delegatedBy(r)}
	case r.NotBeforeMs > nowMs:
		r.Wait = &execution.Wait{Kind: execution.WaitSchedule, UntilMs: r.NotBeforeMs}
	default:
		return s.wake(r, nowMs, nowMs)
	}
	s.rest(r, nowMs)
	return nil
}
