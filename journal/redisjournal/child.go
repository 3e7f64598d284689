package redisjournal

import (
	"context"
	"errors"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Spawn stores a child of an execution. See journal.Steps.
func (s *Store) Spawn(ctx context.Context, spawn journal.Spawn) (journal.Reservation, error) {
	reservation, err := s.spawn(ctx, spawn)
	if err != nil {
		return journal.Reservation{}, refusal("spawn", string(spawn.Execution), err)
	}
	return reservation, nil
}

func (s *Store) spawn(ctx context.Context, spawn journal.Spawn) (journal.Reservation, error) {
	if err := journal.CheckSpawn(spawn); err != nil {
		return journal.Reservation{}, err
	}
	var e encoder
	n := spawn.Child
	fields := append(e.newRow(n), "fingerprint", shortFingerprint(n.Fingerprint))
	keys := append(s.keys.execution(spawn.Execution), s.keys.conversation(talk{n.Caller.Tenant, n.ConversationID}))
	// A child is part of what was accepted: it is stored as long as claims are granted.
	short := s.memory.above(ctx, keys[keyRow], claimCeiling)
	args := []any{
		string(spawn.Fence), allowed(journal.MoveSpawn), string(n.ID), string(n.Parent.Call), bit(short), n.Caller.Tenant,
		n.Caller.Subject, bit(n.Request.Priority == ""), n.Checkpoint, e.event(execution.ExecutionQueued{}), len(fields) / 2,
	}
	args = append(args, fields...)
	for _, message := range n.Messages {
		args = append(args, message)
	}
	if e.err != nil {
		return journal.Reservation{}, e.err
	}
	r, err := newReply(s.runKeys(ctx, s.scripts.spawn, keys, args...))
	if err != nil {
		return journal.Reservation{}, err
	}
	return journal.Reservation{Created: r.text(0) == "created", Execution: r.row(1), Tasks: r.tasks(2)}, r.err
}

// Children returns the children of an execution. See journal.Reader.
func (s *Store) Children(ctx context.Context, id execution.ID) ([]journal.Child, error) {
	r, err := newReply(s.run(ctx, s.scripts.children, id))
	if err != nil {
		return nil, refusal("children", string(id), err)
	}
	children := make([]journal.Child, 0, len(r.items)/4)
	for i := 0; i+3 < len(r.items); i += 4 {
		children = append(children, journal.Child{
			ID: execution.ID(r.text(i)), Call: execution.CallID(r.text(i + 1)), Agent: r.text(i + 2),
			State: execution.State(r.text(i + 3)),
		})
	}
	if r.err != nil {
		return nil, refusal("children", string(id), r.err)
	}
	return children, nil
}

// parent reads "<execution> <call>".
func (d *decoder) parent() *journal.Parent {
	stored := d.text("parent")
	if stored == "" {
		return nil
	}
	id, call, found := strings.Cut(stored, " ")
	if !found {
		d.note("parent", errors.New("no call"))
	}
	return &journal.Parent{Execution: execution.ID(id), Call: execution.CallID(call)}
}
