package redisjournal

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// CompleteCleanup says that what was to be undone outside is. See journal.Commands.
func (s *Store) CompleteCleanup(ctx context.Context, id execution.ID, cleanup []byte) (journal.Change, error) {
	answer := newReplyOf(s.run(ctx, s.scripts.completeCleanup, id, cleanup, allowed(journal.MoveCompleteCleanup)))
	return change("complete cleanup", id, answer)
}

// Cleanups lists a partition's executions whose clean-up is due. See journal.Recovery.
func (s *Store) Cleanups(ctx context.Context, p execution.Partition, limit int) ([]journal.Cleanup, error) {
	call := s.cleanupsCall(p, limit)
	found, err := decodeCleanups(newReplyOf(s.scripts.cleanups.Run(ctx, s.rdb, call.keys, call.args...).Result()))
	if err == nil {
		found, err = s.withRows(ctx, found)
	}
	if err != nil {
		return nil, refusal("cleanups", p.Tag(), err)
	}
	return found, nil
}

// CleanupsAll is Cleanups of every partition in one pipeline, at most limit of each. What was found comes back together with
// the errors of the partitions that did not answer.
func (s *Store) CleanupsAll(ctx context.Context, limit int) ([]journal.Cleanup, error) {
	calls := make([]invocation, execution.Partitions)
	for p := range calls {
		calls[p] = s.cleanupsCall(execution.Partition(p), limit)
	}
	commands, err := s.pipeline(ctx, s.scripts.cleanups, calls)
	if err != nil {
		return nil, refusal("cleanups", "all", err)
	}
	var all []journal.Cleanup
	var failed []error
	for p, command := range commands {
		found, err := decodeCleanups(newReplyOf(command.Result()))
		if err != nil {
			failed = append(failed, refusal("cleanups", execution.Partition(p).Tag(), err))
			continue
		}
		all = append(all, found...)
	}
	all, err = s.withRows(ctx, all)
	if err != nil {
		failed = append(failed, refusal("cleanups", "all", err))
	}
	return all, errors.Join(failed...)
}

func (s *Store) cleanupsCall(p execution.Partition, limit int) invocation {
	return invocation{
		keys: []string{s.keys.cleanup(p)}, args: []any{max(0, limit), states(execution.States()), s.now()},
	}
}

// decodeCleanups reads {now, for each its id, score, since, bad, flat}.
func decodeCleanups(a answer) ([]journal.Cleanup, error) {
	if a.failed != nil {
		return nil, a.failed
	}
	now := a.number(0)
	var found []journal.Cleanup
	for i := 1; i+3 < len(a.items); i += 4 {
		at, err := strconv.ParseFloat(a.text(i+1), 64) // as Redis writes scores
		if err != nil {
			a.fail(i+1, "score")
		}
		found = append(found, journal.Cleanup{
			Execution: journal.Execution{ID: execution.ID(a.text(i))}, AtMs: int64(at), SinceMs: a.number(i + 2),
			Bad: a.flag(i + 3), NowMs: now,
		})
	}
	return found, a.err
}

// withRows reads the rows, in one pipeline. One that is gone by now is left out, one that cannot be read is bad.
func (s *Store) withRows(ctx context.Context, seen []journal.Cleanup) ([]journal.Cleanup, error) {
	var calls []invocation
	var asked []int
	for i := range seen {
		if checkID(seen[i].Execution.ID) != nil {
			seen[i].Bad = true
		}
		if !seen[i].Bad {
			calls = append(calls, invocation{s.keys.execution(seen[i].Execution.ID), []any{s.now()}})
			asked = append(asked, i)
		}
	}
	gone := make(map[int]bool)
	if len(calls) > 0 {
		commands, err := s.pipeline(ctx, s.scripts.get, calls)
		if err != nil {
			return nil, err
		}
		for n, command := range commands {
			row, err := newReply(command.Result())
			if err == nil {
				seen[asked[n]].Execution, err = decodeRow(row)
			}
			gone[asked[n]] = errors.Is(scriptError(err), journal.ErrNotFound)
			seen[asked[n]].Bad = err != nil
		}
	}
	out := seen[:0]
	for i := range seen {
		if !gone[i] {
			out = append(out, seen[i])
		}
	}
	return out, nil
}

// PostponeCleanup moves the next attempt on. See journal.Recovery.
func (s *Store) PostponeCleanup(ctx context.Context, seen journal.Cleanup, delay time.Duration) (bool, error) {
	id := seen.Execution.ID
	if checkID(id) != nil {
		return false, nil
	}
	keys := []string{s.keys.row(id), s.keys.cleanup(id.Partition())}
	moved, err := s.runKeys(ctx, s.scripts.postpone, keys, string(id), strconv.FormatInt(seen.AtMs, 10), delay.Milliseconds())
	if err != nil {
		return false, refusal("postpone cleanup", string(id), err)
	}
	return moved == int64(1), nil
}
