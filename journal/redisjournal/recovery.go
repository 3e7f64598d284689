package redisjournal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// recoverableScan bounds how many entries of each index Recoverable looks at in a partition.
const recoverableScan = 1000

// Sweep lists a partition's entries whose time has come. See journal.Recovery.
func (s *Store) Sweep(ctx context.Context, p execution.Partition, limit int) ([]journal.Due, error) {
	call := s.sweepCall(p, limit)
	found, err := decodeSweep(p, newReplyOf(s.scripts.sweep.Run(ctx, s.rdb, call.keys, call.args...).Result()))
	if err != nil {
		return nil, refusal("sweep", p.Tag(), err)
	}
	return found, nil
}

// SweepAll sweeps every partition in one pipeline, at most limit entries in each. What can be read of one partition does
// not depend on another: the entries that were found come back together with the errors of the rest.
func (s *Store) SweepAll(ctx context.Context, limit int) ([]journal.Due, error) {
	calls := make([]invocation, execution.Partitions)
	for p := range calls {
		calls[p] = s.sweepCall(execution.Partition(p), limit)
	}
	commands, err := s.pipeline(ctx, s.scripts.sweep, calls)
	if err != nil {
		return nil, refusal("sweep", "all", err)
	}
	var all []journal.Due
	var failed []error
	for p, command := range commands {
		found, err := decodeSweep(execution.Partition(p), newReplyOf(command.Result()))
		if err != nil {
			failed = append(failed, refusal("sweep", execution.Partition(p).Tag(), err))
			continue
		}
		all = append(all, found...)
	}
	return all, errors.Join(failed...)
}

func (s *Store) sweepCall(p execution.Partition, limit int) invocation {
	args := []any{max(0, limit), max(0, s.cfg.SweepLock.Milliseconds()), states(execution.States())}
	return invocation{
		keys: []string{s.keys.due(p), s.keys.handoff(p), s.keys.purge(p), s.keys.lock(p)},
		args: append(args, s.now()),
	}
}

// decodeSweep reads {now, entries}.
func decodeSweep(p execution.Partition, a answer) ([]journal.Due, error) {
	if a.failed != nil {
		return nil, a.failed
	}
	now := a.number(0)
	var found []journal.Due
	for _, item := range a.list(1) {
		parts, ok := item.([]any)
		if !ok {
			return nil, fmt.Errorf("%w: an entry of a sweep is a %T", errEncoding, item)
		}
		found = append(found, decodeDue(p, now, &reply{items: parts}))
	}
	return found, a.err
}

func decodeDue(p execution.Partition, now int64, r *reply) journal.Due {
	due := journal.Due{
		Partition: p, NowMs: now, Member: r.text(0), Index: r.text(1), Action: journal.DueAction(r.text(3)),
		SinceMs: r.number(7),
	}
	at, err := strconv.ParseFloat(r.text(2), 64) // as Redis writes scores
	due.AtMs = int64(at)
	if due.Action == journal.ActRequeue || due.Action == journal.ActStanding {
		due.Task = execution.Task{
			Execution: execution.ID(due.Member), Step: execution.Step(r.number(4)),
			Wake: execution.Wake(r.number(5)), Queue: r.text(6),
		}
	}
	if err != nil || r.err != nil {
		due.Action, due.Task = journal.ActBad, execution.Task{} // counted and moved on, as any other bad record
	}
	return due
}

// Requeue makes a step runnable again. See journal.Recovery.
func (s *Store) Requeue(ctx context.Context, seen journal.Due) (journal.Requeued, error) {
	args := append(seenAs(seen), uint64(seen.Task.Wake), allowed(journal.MoveRequeue))
	return requeued("requeue", seen, newReplyOf(s.run(ctx, s.scripts.requeue, execution.ID(seen.Member), args...)))
}

// Expire carries out what was to happen at the entry's time. See journal.Recovery.
func (s *Store) Expire(ctx context.Context, seen journal.Due) (journal.Requeued, error) {
	var e encoder
	args := seenAs(seen)
	for _, failure := range []execution.Failure{
		journal.DeadlineFailure(), journal.SuspensionFailure(), journal.InteractionFailure(), journal.UnfinishedFailure(),
	} {
		end := journal.Ending{State: execution.Failed, Failure: &failure}
		args = append(args, e.blob(failure), e.event(journal.EndingPayload(end)))
	}
	expired := journal.InteractionExpiredSuspension()
	args = append(args, string(expired.Reason), expired.Detail, e.event(journal.SuspendedEvent(expired)),
		e.event(journal.CleanupWarning()))
	late := journal.DelegationFailure()
	args = append(args, e.blob(late), e.event(journal.EndingPayload(journal.Ending{State: execution.Failed, Failure: &late})))
	if e.err != nil {
		return journal.Requeued{}, refusal("expire", seen.Member, e.err)
	}
	return requeued("expire", seen, newReplyOf(s.run(ctx, s.scripts.expire, execution.ID(seen.Member), args...)))
}

func seenAs(seen journal.Due) []any { return []any{seen.Index, strconv.FormatInt(seen.AtMs, 10)} }

// requeued decodes {moved, state, tasks}.
func requeued(operation string, seen journal.Due, a answer) (journal.Requeued, error) {
	if errors.Is(a.failed, journal.ErrNotFound) { // no execution id: nothing of that name can be due
		return journal.Requeued{}, nil
	}
	if a.failed != nil {
		return journal.Requeued{}, refusal(operation, seen.Member, a.failed)
	}
	answer := journal.Requeued{Moved: a.flag(0), State: execution.State(a.text(1)), Tasks: a.tasks(2)}
	if a.err != nil {
		return journal.Requeued{}, refusal(operation, seen.Member, a.err)
	}
	return answer, nil
}

// Postpone moves the entry on. See journal.Recovery.
func (s *Store) Postpone(ctx context.Context, seen journal.Due, delay time.Duration) error {
	keys := []string{s.keys.member(seen.Partition, seen.Member), s.keys.index(seen.Partition, seen.Index)}
	_, err := s.runKeys(ctx, s.scripts.postpone, keys,
		seen.Member, strconv.FormatInt(seen.AtMs, 10), delay.Milliseconds())
	if err != nil {
		return refusal("postpone", seen.Member, err)
	}
	return nil
}

// Purge deletes a terminal execution, or an idempotency key without row. See journal.Recovery.
func (s *Store) Purge(ctx context.Context, seen journal.Due) error {
	var err error
	if strings.HasPrefix(seen.Member, keyMemberPrefix) {
		err = s.purgeKey(ctx, seen)
	} else {
		err = s.purgeRow(ctx, seen)
	}
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return refusal("purge", seen.Member, err)
	}
	return nil
}

// purgeRow deletes a row, and before it a key that lives in another partition. A row whose key is gone still answers for
// its id, which is derived from the key; a key that outlived its row would be taken for that of a later one.
func (s *Store) purgeRow(ctx context.Context, seen journal.Due) error {
	id, args := execution.ID(seen.Member), append(seenAs(seen), allowed(journal.MovePurge))
	r, err := newReply(s.run(ctx, s.scripts.purge, id, append(args, "")...))
	if err != nil || r.text(0) != "key" {
		return err
	}
	scope, key := execution.CallerScope{Tenant: r.text(1), Subject: r.text(2)}, r.text(3)
	if r.err != nil {
		return r.err
	}
	p := execution.KeyPartition(scope, key)
	keys := []string{s.keys.idempotency(scope, key), s.keys.purge(p)}
	if _, err := s.runKeys(ctx, s.scripts.purgeKey, keys, keyMember(scope, key), "", string(id)); err != nil {
		return err
	}
	_, err = s.run(ctx, s.scripts.purge, id, append(args, "1")...)
	return err
}

// purgeKey looks whether the row of a key in another partition is there: the key lives as long as its row.
func (s *Store) purgeKey(ctx context.Context, seen journal.Due) error {
	keys := []string{s.keys.member(seen.Partition, seen.Member), s.keys.purge(seen.Partition)}
	id, err := s.rdb.HGet(ctx, keys[0], "execution").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if checkID(execution.ID(id)) == nil {
		there, err := s.rdb.Exists(ctx, s.keys.row(execution.ID(id))).Result()
		if err != nil {
			return err
		}
		if there > 0 {
			return s.Postpone(ctx, seen, s.cfg.Retention)
		}
	}
	_, err = s.runKeys(ctx, s.scripts.purgeKey, keys, seen.Member, strconv.FormatInt(seen.AtMs, 10), id)
	return err
}

// Recoverable lists executions that a worker could take, and those whose clean-up is open. See journal.ExecutionJournal.
func (s *Store) Recoverable(ctx context.Context, limit int) ([]journal.Execution, error) {
	if limit <= 0 {
		return []journal.Execution{}, nil
	}
	candidates, err := s.candidates(ctx, limit)
	if err != nil {
		return nil, refusal("recoverable", "all", err)
	}
	rows := make([]journal.Execution, 0, min(limit, len(candidates)))
	for _, c := range candidates[:min(limit, len(candidates))] {
		found, err := s.get(ctx, c.id)
		if errors.Is(scriptError(err), journal.ErrNotFound) {
			continue // purged since
		}
		if err != nil {
			return nil, refusal("recoverable", string(c.id), err)
		}
		rows = append(rows, found)
	}
	return rows, nil
}

// candidate is an execution that a worker could take, and the instant of its entry.
type candidate struct {
	id   execution.ID
	atMs float64
}

// candidates asks every partition in one pipeline; the oldest come first.
func (s *Store) candidates(ctx context.Context, limit int) ([]candidate, error) {
	calls := make([]invocation, execution.Partitions)
	for i := range calls {
		p := execution.Partition(i)
		calls[i] = invocation{
			keys: []string{s.keys.due(p), s.keys.handoff(p), s.keys.purge(p), s.keys.cleanup(p)},
			args: []any{limit, max(limit, recoverableScan), s.now()},
		}
	}
	commands, err := s.pipeline(ctx, s.scripts.recoverable, calls)
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, command := range commands {
		r, err := newReply(command.Result())
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(r.items); i += 2 {
			at, err := strconv.ParseFloat(r.text(i+1), 64)
			if err != nil {
				return nil, fmt.Errorf("%w: score: %w", errEncoding, err)
			}
			found = append(found, candidate{id: execution.ID(r.text(i)), atMs: at})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.atMs, b.atMs), strings.Compare(string(a.id), string(b.id)))
	})
	return found, nil
}
