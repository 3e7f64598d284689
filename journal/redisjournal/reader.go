package redisjournal

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Get returns the row. See journal.Reader.
func (s *Store) Get(ctx context.Context, id execution.ID) (journal.Execution, error) {
	return row("get", id, newReplyOf(s.run(ctx, s.scripts.get, id)))
}

func (s *Store) get(ctx context.Context, id execution.ID) (journal.Execution, error) {
	r, err := newReply(s.run(ctx, s.scripts.get, id))
	if err != nil {
		return journal.Execution{}, err
	}
	return decodeRow(r)
}

// Events returns a page of the log. See journal.Reader.
func (s *Store) Events(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) ([]execution.Event, error) {
	page, err := s.EventPage(ctx, id, after, limit)
	return page.Events, err
}

// EventPage returns a page of the log, its last sequence and the row's state. See journal.Reader.
func (s *Store) EventPage(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (journal.EventPage, error) {
	page, err := s.eventPage(ctx, id, after, limit)
	if err != nil {
		return journal.EventPage{}, refusal("events", string(id), err)
	}
	return page, nil
}

func (s *Store) eventPage(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (journal.EventPage, error) {
	r, err := newReply(s.run(ctx, s.scripts.events, id, uint64(after), max(0, limit)))
	if err != nil {
		return journal.EventPage{}, err
	}
	page := journal.EventPage{
		Last:   execution.Sequence(r.number(0)),
		State:  execution.State(r.text(1)),
		Caller: execution.CallerScope{Tenant: r.text(3), Subject: r.text(4)},
	}
	for i, entry := range r.texts(2) {
		event, _ := decodeEvent(entry, after+execution.Sequence(i)+1) // one that cannot be read hides no other one
		page.Events = append(page.Events, event)
	}
	return page, r.err
}

// lengths is how many logs one round trip measures.
const lengths = 500

// LastSequences returns the last sequence of each log. See journal.Reader.
func (s *Store) LastSequences(ctx context.Context, ids []execution.ID) ([]execution.Sequence, error) {
	out := make([]execution.Sequence, 0, len(ids))
	for part := range slices.Chunk(ids, lengths) {
		commands, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, id := range part {
				pipe.LLen(ctx, s.keys.events(id))
			}
			return nil
		})
		if err != nil && !unreadable(err) {
			return nil, refusal("last sequences", string(part[0]), err)
		}
		for i, command := range commands {
			n, err := command.(*redis.IntCmd).Result()
			if err != nil && !unreadable(err) {
				return nil, refusal("last sequences", string(part[i]), err)
			}
			out = append(out, execution.Sequence(n)) //nolint:gosec // a length
		}
	}
	return out, nil
}

// Checkpoints returns checkpoints from a step on. See journal.Reader.
func (s *Store) Checkpoints(ctx context.Context, id execution.ID, from execution.Step, limit int) (
	[]journal.StoredCheckpoint, error,
) {
	entries, err := s.page(ctx, "checkpoints", id, uint64(from), limit)
	if err != nil {
		return nil, err
	}
	checkpoints := make([]journal.StoredCheckpoint, len(entries))
	for i, entry := range entries {
		checkpoints[i] = decodeCheckpoint(entry)
	}
	return checkpoints, nil
}

// Messages returns messages of the execution's conversation. See journal.Reader.
func (s *Store) Messages(ctx context.Context, id execution.ID, from, limit int) ([][]byte, error) {
	entries, err := s.page(ctx, "messages", id, uint64(max(0, from)), limit)
	if err != nil {
		return nil, err
	}
	return blobs(entries), nil
}

func (s *Store) page(ctx context.Context, what string, id execution.ID, from uint64, limit int) ([]string, error) {
	list, err := s.run(ctx, s.scripts.read, id, what, from, max(0, limit))
	if err != nil {
		return nil, refusal(what, string(id), err)
	}
	r := &reply{items: []any{list}}
	entries := r.texts(0)
	if r.err != nil {
		return nil, refusal(what, string(id), r.err)
	}
	return entries, nil
}

// Ledger returns the entries of the given calls. See journal.Reader.
func (s *Store) Ledger(
	ctx context.Context, id execution.ID, calls []execution.CallID,
) ([]journal.LedgerEntry, error) {
	args := []any{len(calls)}
	for _, call := range calls {
		args = append(args, string(call))
	}
	r, err := newReply(s.run(ctx, s.scripts.ledger, id, args...))
	if err != nil {
		return nil, refusal("ledger", string(id), err)
	}
	entries := r.ledgerOf(r.items, calls)
	if r.err != nil {
		return nil, refusal("ledger", string(id), r.err)
	}
	return entries, nil
}

// PutDefinition stores a definition once. See journal.Definitions.
func (s *Store) PutDefinition(ctx context.Context, hash string, definition []byte) error {
	err := s.rdb.SetNX(ctx, s.keys.definition(hash), definition, 0).Err()
	if redis.HasErrorPrefix(err, "OOM") { // also for one that is stored already: Redis asks before it looks
		err = journal.ErrOverloaded
	}
	if err != nil {
		return refusal("put definition", hash, err)
	}
	return nil
}

// Definition returns a definition. See journal.Definitions.
func (s *Store) Definition(ctx context.Context, hash string) ([]byte, error) {
	definition, err := s.rdb.Get(ctx, s.keys.definition(hash)).Bytes()
	if errors.Is(err, redis.Nil) {
		err = journal.ErrNotFound
	}
	if err != nil {
		return nil, refusal("definition", hash, err)
	}
	return definition, nil
}
