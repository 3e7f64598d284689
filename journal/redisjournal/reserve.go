package redisjournal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// keyLookAfter is when the reaper looks whether an idempotency key got its row.
const keyLookAfter = 10 * time.Minute

// Reserve stores a new execution. See journal.Commands.
func (s *Store) Reserve(ctx context.Context, n journal.NewExecution) (journal.Reservation, error) {
	reservation, err := s.reserve(ctx, n)
	if err != nil {
		return journal.Reservation{}, refusal("reserve", string(n.ID), err)
	}
	return reservation, nil
}

func (s *Store) reserve(ctx context.Context, n journal.NewExecution) (journal.Reservation, error) {
	if err := journal.CheckReserved(n); err != nil {
		return journal.Reservation{}, err
	}
	if _, err := execution.ParseID(string(n.ID)); err != nil {
		return journal.Reservation{}, fmt.Errorf("%w: %w", journal.ErrConflict, err)
	}
	if n.ID.Partition() != n.ConversationID.Partition(n.Caller.Tenant) {
		return journal.Reservation{}, fmt.Errorf("%w: execution and conversation are in two partitions", journal.ErrConflict)
	}
	if n.Fork != nil && n.Fork.From.ExecutionID.Partition() != n.ID.Partition() {
		return journal.Reservation{}, fmt.Errorf("%w: a fork is in the partition of what it comes from", journal.ErrConflict)
	}
	if n.IdempotencyKey != "" && execution.KeyPartition(n.Caller, n.IdempotencyKey) != n.ID.Partition() {
		return s.reserveApart(ctx, n)
	}
	return s.reserveRow(ctx, n, "write")
}

// reserveApart reserves an execution whose key lives in another partition: key entry, then row. Both moves repeat in any
// order. A look at the row's guards comes first, so that a refusal leaves no key behind; a key whose row was refused in
// between is deleted when the reaper looks at it.
func (s *Store) reserveApart(ctx context.Context, n journal.NewExecution) (journal.Reservation, error) {
	key := s.keys.idempotency(n.Caller, n.IdempotencyKey)
	held, err := s.rdb.HMGet(ctx, key, "execution", "fingerprint", "gone").Result()
	if err != nil {
		return journal.Reservation{}, err
	}
	if held[2] != nil {
		return journal.Reservation{}, journal.ErrGone
	}
	if held[0] != nil {
		if held[1] != shortFingerprint(n.Fingerprint) && held[1] != n.Fingerprint {
			return journal.Reservation{}, journal.ErrKeyReused
		}
		return s.reserveHeld(ctx, n, execution.ID(fmt.Sprint(held[0])))
	}
	if found, err := s.reserveRow(ctx, n, "look"); err != nil || found.Execution.ID != "" {
		return found, err
	}
	holder, err := s.runKeys(ctx, s.scripts.reserveKey,
		[]string{key, s.keys.purge(execution.KeyPartition(n.Caller, n.IdempotencyKey))},
		string(n.ID), shortFingerprint(n.Fingerprint), keyMember(n.Caller, n.IdempotencyKey), keyLookAfter.Milliseconds(),
		n.Fingerprint)
	if err != nil {
		return journal.Reservation{}, err
	}
	return s.reserveHeld(ctx, n, execution.ID(fmt.Sprint(holder)))
}

// reserveHeld reserves the row of a key entry: that of the execution which holds the key.
func (s *Store) reserveHeld(ctx context.Context, n journal.NewExecution, holder execution.ID) (journal.Reservation, error) {
	if holder == n.ID {
		return s.reserveRow(ctx, n, "write")
	}
	r, err := newReply(s.run(ctx, s.scripts.get, holder))
	if err != nil && !errors.Is(scriptError(err), journal.ErrNotFound) {
		return journal.Reservation{}, err
	}
	if err != nil { // its row has yet to come, or never will: the reaper looks at the key
		return journal.Reservation{}, fmt.Errorf("%w: the idempotency key belongs to %s", journal.ErrConflict, holder)
	}
	row, err := decodeRow(r)
	if err != nil {
		return journal.Reservation{}, err
	}
	return journal.Reservation{Execution: row, Tasks: r.tasks(5)}, r.err
}

// reserveRow runs the row's script. In mode look it answers without an execution when nothing stands in the way.
func (s *Store) reserveRow(ctx context.Context, n journal.NewExecution, mode string) (journal.Reservation, error) {
	p := n.ID.Partition()
	keys := append(s.keys.execution(n.ID), s.keys.conversation(talk{n.Caller.Tenant, n.ConversationID}))
	member := ""
	if n.IdempotencyKey != "" && execution.KeyPartition(n.Caller, n.IdempotencyKey) == p {
		member = keyMember(n.Caller, n.IdempotencyKey)
		keys = append(keys, s.keys.idempotency(n.Caller, n.IdempotencyKey))
	}
	var e encoder
	fields := e.newRow(n)
	args := []any{
		mode, shortFingerprint(n.Fingerprint), n.IdempotencyKey, onBusy(n),
		bit(s.memory.above(ctx, keys[keyRow], reserveCeiling)), n.Caller.Tenant, n.Caller.Subject, member,
		n.Request.StartAtMs, n.Checkpoint, e.event(execution.ExecutionQueued{}), len(fields) / 2, len(n.Messages),
		n.Fingerprint,
	}
	args = append(args, e.interruption(n)...)
	args = append(append(args, forked(n.Fork)...), bit(n.Continues()))
	args = append(args, fields...)
	for _, message := range n.Messages {
		args = append(args, message)
	}
	if e.err != nil {
		return journal.Reservation{}, e.err
	}
	r, err := newReply(s.runKeys(ctx, s.scripts.reserve, keys, args...))
	if err != nil {
		return journal.Reservation{}, err
	}
	if r.text(0) == "free" {
		return journal.Reservation{}, r.err
	}
	reservation := journal.Reservation{Created: r.text(0) == "created", Execution: r.row(1), Tasks: r.tasks(2)}
	return reservation, r.err
}

// onBusy is what the script does when the conversation is busy; nothing for refusing.
func onBusy(n journal.NewExecution) string {
	if n.Request.OnBusy == execution.BusyReject {
		return ""
	}
	return string(n.Request.OnBusy)
}

// interruption is what the script needs to cancel the active execution; nothing for a submission that would not.
func (e *encoder) interruption(n journal.NewExecution) []any {
	if !n.Request.OnBusy.Interrupts() {
		return []any{"", ""}
	}
	return []any{allowed(journal.MoveCancel), e.event(execution.CancelRequested{})}
}

// forked is what the script is told of the history that a fork goes on from.
func forked(fork *journal.Fork) []any {
	switch {
	case fork == nil:
		return []any{"", 0, ""}
	case fork.Whole:
		return []any{string(fork.From.ExecutionID), 0, "whole"}
	case fork.Own:
		return []any{string(fork.From.ExecutionID), fork.Length, "own"}
	default:
		return []any{string(fork.From.ExecutionID), fork.Length, "all"}
	}
}

// newRow is the fields of a new row that the script does not look at, as name and value.
func (e *encoder) newRow(n journal.NewExecution) []any {
	fields := []any{
		"v", rowVersion, "conversation", journal.ConversationName(n.Caller.Tenant, n.ConversationID),
		"agent", n.Request.Agent, "definition", shortHash(n.Definition), "request", e.blob(n.Request), "queue", ownQueue(n), "node", n.Node,
		"usage", encodeUsage(execution.Usage{}), "deadlineMs", optional(n.Deadline.Milliseconds()),
	}
	if priority := n.Request.Priority; priority != "" && priority != execution.Normal {
		fields = append(fields, "priority", string(priority))
	}
	if n.Retention > 0 {
		fields = append(fields, "retentionMs", n.Retention.Milliseconds())
	}
	if n.Fork != nil {
		fields = append(fields, "origin", encodeOrigin(n.Fork.From))
		if n.Fork.ReadsHistory {
			fields = append(fields, "readsHistory", "1")
		}
	}
	if n.Delegated {
		fields = append(fields, "delegated", "1")
	}
	if len(n.Overrides) > 0 {
		fields = append(fields, "overrides", n.Overrides)
	}
	return fields
}

// ownQueue is the base queue of a new row; empty: a child's that is its parent's.
func ownQueue(n journal.NewExecution) string {
	if n.Parent != nil && n.Queue == "" && n.Request.Priority == "" {
		return ""
	}
	return n.BaseQueue()
}

// OpenExecutions counts the executions that have not ended. See journal.Commands.
func (s *Store) OpenExecutions(ctx context.Context) (int64, error) {
	var counts []*redis.IntCmd
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range execution.Partition(execution.Partitions) {
			counts = append(counts, pipe.ZCard(ctx, s.keys.due(p)), pipe.ZCard(ctx, s.keys.handoff(p)))
		}
		return nil
	})
	var open int64
	for _, count := range counts {
		open += count.Val()
	}
	if err != nil {
		return open, refusal("count open executions", "", err)
	}
	return open, nil
}
