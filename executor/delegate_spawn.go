package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/faultpoint"
	"github.com/pawl-run/pawl/journal"
)

// Spawn implements spawner.
func (h *holder) Spawn(ctx context.Context, child childRun) (execution.Limits, error) {
	if err := h.ahead(); err != nil {
		return execution.Limits{}, err
	}
	request, row, err := h.childOf(child)
	if err != nil {
		return execution.Limits{}, err
	}
	spawn := journal.Spawn{Hold: h.hold(), Child: row}
	var reservation journal.Reservation
	err = repeat(context.WithoutCancel(ctx), h.trust.until(), func(ctx context.Context) (err error) {
		reservation, err = h.durable.cfg.Store.Spawn(ctx, spawn)
		return err
	})
	faultpoint.Hit("spawned")
	switch {
	case errors.Is(err, journal.ErrState): // a cancel is recorded
		h.end(ErrUserCancel)
		return execution.Limits{}, context.Cause(ctx)
	case errors.Is(err, journal.ErrGone): // it has ended, and its result is there
		return *request.Limits, nil
	case err != nil:
		return execution.Limits{}, fmt.Errorf("spawn %s for %s of %s: %w", child.definition.Name, child.call, spawn.Execution, err)
	}
	h.durable.enqueue(ctx, reservation.Tasks)
	if started := reservation.Execution.Request.Limits; started != nil {
		return *started, nil
	}
	return execution.Limits{}, nil
}

// childOf is what the child is stored with. What is not said here, it has from its parent.
func (h *holder) childOf(child childRun) (request execution.CreateRequest, row journal.NewExecution, err error) {
	parent, definition := &h.claimed.Execution, child.definition
	request = execution.CreateRequest{
		Agent: definition.Name, Input: execution.Input{Type: execution.UserMessage, Text: child.prompt}, Limits: &child.limits,
	}
	overrides, err := agent.Adjustments{Roster: h.tree.hash}.Encode()
	if err != nil {
		return request, row, err
	}
	checkpoint, messages, err := openingOf(definition, request, child.depth, h.trace)
	if err != nil {
		return request, row, err
	}
	return request, journal.NewExecution{
		ID: execution.ChildID(parent.ID, child.call), ConversationID: execution.ChildConversationID(parent.ID, child.call),
		Request: request, Definition: h.tree.names[definition.Name], Overrides: overrides, Queue: definition.Queue,
		Deadline: child.limits.Deadline, Checkpoint: checkpoint, Node: string(RunStart), Messages: messages,
		Parent: &journal.Parent{Execution: parent.ID, Call: child.call},
	}, nil
}

// openingOf is checkpoint 0 of a child, and the message that it adds to its conversation. The child's spans belong to the
// trace of its parent.
func openingOf(definition *agent.Definition, request execution.CreateRequest, depth int, trace TraceContext) (
	checkpoint []byte, messages [][]byte, err error,
) {
	first, _, messages, err := Opening(definition, request)
	if err != nil {
		return nil, nil, err
	}
	decoded, err := DecodeCheckpoint(first)
	if err != nil {
		return nil, nil, err
	}
	decoded.State.Depth = depth
	decoded.Resume = decoded.Resume.WithTraceContext(trace)
	checkpoint, err = decoded.Encode()
	return checkpoint, messages, err
}
