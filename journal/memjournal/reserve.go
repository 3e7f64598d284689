package memjournal

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Reserve implements journal.Commands.
func (s *Store) Reserve(ctx context.Context, n journal.NewExecution) (journal.Reservation, error) {
	if err := journal.CheckReserved(n); err != nil {
		return journal.Reservation{}, fail("reserve", n.ID, err)
	}
	now, unlock, err := s.lock(ctx, "reserve", n.ID)
	if err != nil {
		return journal.Reservation{}, err
	}
	defer unlock()
	existing, err := s.reserved(n)
	if err != nil {
		return journal.Reservation{}, fail("reserve", n.ID, err)
	}
	if existing != nil {
		return journal.Reservation{Execution: existing.snapshot(), Tasks: existing.standing(now)}, nil
	}
	if err := s.admit(n); err != nil {
		return journal.Reservation{}, fail("reserve", n.ID, err)
	}
	r := newRow(n, now)
	s.rows[n.ID] = r
	s.fork(r, n.Fork)
	if n.IdempotencyKey != "" {
		s.keys[keyMember(n)] = &keyEntry{
			execution: n.ID, partition: execution.HashPartition(keyMember(n)),
			lookAtMs: now + s.cfg.Retention.Milliseconds(),
		}
	}
	r.write(now, execution.ExecutionQueued{})
	tasks := s.join(r, n.Request.OnBusy, now)
	r.Version, r.UpdatedAtMs = 1, now
	s.feed.changed(r)
	return journal.Reservation{Created: true, Execution: r.snapshot(), Tasks: tasks}, nil
}

// reserved finds the row that this very submission made before.
func (s *Store) reserved(n journal.NewExecution) (*row, error) {
	if entry := s.keys[keyMember(n)]; n.IdempotencyKey != "" && entry != nil {
		if entry.gone {
			return nil, journal.ErrGone
		}
		r := s.rows[entry.execution]
		if r.fingerprint != n.Fingerprint {
			return nil, journal.ErrKeyReused
		}
		return r, nil
	}
	r := s.rows[n.ID]
	if r == nil {
		return nil, nil
	}
	if r.Caller != n.Caller || r.IdempotencyKey != n.IdempotencyKey || r.fingerprint != n.Fingerprint {
		return nil, fmt.Errorf("%w: the id is taken", journal.ErrConflict)
	}
	return r, nil
}

func newRow(n journal.NewExecution, nowMs int64) *row {
	r := &row{
		Execution: journal.Execution{
			ID: n.ID, ConversationID: n.ConversationID, Caller: n.Caller, IdempotencyKey: n.IdempotencyKey,
			Agent: n.Request.Agent, Definition: n.Definition, Request: cloneRequest(n.Request),
			Overrides: append([]byte(nil), n.Overrides...),
			Priority:  n.Request.Priority, Queue: n.BaseQueue(),
			State: execution.Queued, Node: n.Node, CreatedAtMs: nowMs,
		},
		fingerprint: n.Fingerprint,
		deadline:    n.Deadline,
		retention:   n.Retention,
		messages:    cloneBytes(n.Messages),
		checkpoints: []journal.StoredCheckpoint{{Data: append([]byte{}, n.Checkpoint...), AtMs: nowMs}},
		ledger:      map[execution.CallID]*journal.LedgerEntry{},
		inbox:       map[execution.RequestID][]byte{},
	}
	if r.Priority == "" {
		r.Priority = execution.Normal
	}
	if n.Fork != nil {
		origin := n.Fork.From
		r.ForkedFrom, r.readsHistory = &origin, n.Fork.ReadsHistory
	}
	if n.Delegated {
		r.Delegation = &journal.Delegation{}
	}
	if n.Request.StartAtMs > nowMs {
		r.NotBeforeMs = n.Request.StartAtMs
	}
	return r
}

// keyMember names the entry of an idempotency key. Another caller's equal key is another entry.
func keyMember(n journal.NewExecution) string {
	return "idem:" + n.Caller.String() + "\x00" + n.IdempotencyKey
}
