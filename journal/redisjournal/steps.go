package redisjournal

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/journal"
)

// Renew moves the claim's expiry. See journal.Steps.
func (s *Store) Renew(ctx context.Context, hold journal.Hold, ttl time.Duration) (journal.Renewed, error) {
	renewed, err := s.renew(ctx, hold, ttl)
	if err != nil {
		return journal.Renewed{}, refusal("renew", string(hold.Execution), err)
	}
	return renewed, nil
}

func (s *Store) renew(ctx context.Context, hold journal.Hold, ttl time.Duration) (journal.Renewed, error) {
	if err := journal.CheckTTL(ttl); err != nil {
		return journal.Renewed{}, err
	}
	answer, err := s.run(ctx, s.scripts.renew, hold.Execution, s.renewArguments(hold, ttl)...)
	if err != nil {
		return journal.Renewed{}, err
	}
	return decodeRenewed(answer)
}

// heldBy is how a numbered call begins.
func heldBy(hold journal.Hold) []any {
	return []any{string(hold.Fence), strconv.FormatUint(uint64(hold.Operation), 10)}
}

// Record writes ledger entries. See journal.Steps.
func (s *Store) Record(ctx context.Context, record journal.Record) (journal.Recorded, error) {
	recorded, err := s.record(ctx, record)
	if err != nil {
		return journal.Recorded{}, refusal("record", string(record.Execution), err)
	}
	return recorded, nil
}

func (s *Store) record(ctx context.Context, record journal.Record) (journal.Recorded, error) {
	if err := journal.CheckRecord(record); err != nil {
		return journal.Recorded{}, err
	}
	var e encoder
	args := []any{
		string(record.Fence), allowed(journal.MoveRecord), string(record.State), e.usage(record.Usage), len(record.Calls),
		len(record.Events), len(record.Blobs),
	}
	for _, call := range record.Calls {
		args = append(args, string(call))
	}
	for _, receipt := range record.Receipts {
		args = append(args, receipt)
	}
	for _, payload := range record.Events {
		args = append(args, string(journal.EventCall(payload)), e.event(payload))
	}
	for _, blob := range record.Blobs {
		args = append(args, blob.Hash, blob.Content)
	}
	if e.err != nil {
		return journal.Recorded{}, e.err
	}
	r, err := newReply(s.run(ctx, s.scripts.record, record.Execution, args...))
	if err != nil {
		return journal.Recorded{}, err
	}
	recorded := journal.Recorded{Replayed: r.flag(0), CancelRequested: r.flag(1)}
	if r.err == nil {
		recorded.Entries = r.ledgerOf(r.items[2:], record.Calls)
	}
	return recorded, r.err
}

// Release ends the claim without advancing. See journal.Steps.
func (s *Store) Release(ctx context.Context, release journal.Release) (journal.Committed, error) {
	released, err := s.release(ctx, release)
	if err != nil {
		return journal.Committed{}, refusal("release", string(release.Execution), err)
	}
	return released, nil
}

func (s *Store) release(ctx context.Context, release journal.Release) (journal.Committed, error) {
	if err := journal.CheckRelease(release); err != nil {
		return journal.Committed{}, err
	}
	var e encoder
	kind, move, after := "back", journal.MoveRelease, int64(0)
	var retry [3]string
	var reason, detail, suspended string
	switch {
	case release.Retry != nil:
		kind, after = "retry", release.Retry.After.Milliseconds()
		retry = e.retry(*release.Retry)
	case release.Suspension != nil:
		kind, move = "suspend", journal.MoveReleaseSuspend
		reason, detail = string(release.Suspension.Reason), release.Suspension.Detail
		suspended = e.event(journal.SuspendedEvent(*release.Suspension))
	}
	args := append(heldBy(release.Hold), allowed(move), kind, e.usage(release.Usage), after, retry[0], retry[1], retry[2],
		reason, detail, suspended, len(release.Unsent))
	for _, call := range release.Unsent {
		args = append(args, string(call))
	}
	if e.err != nil {
		return journal.Committed{}, e.err
	}
	return committed(newReply(s.run(ctx, s.scripts.release, release.Execution, args...)))
}

// retry is the text of a retry_scheduled event around its attempt and its instant, which the script knows.
func (e *encoder) retry(retry journal.Retry) [3]string {
	text := e.event(journal.RetryEvent(retry))
	head, rest, _ := strings.Cut(text, `"attempt":0`)
	middle, end, _ := strings.Cut(rest, `"atMs":0`)
	return [3]string{head + `"attempt":`, middle + `"atMs":`, end}
}

func committed(r *reply, err error) (journal.Committed, error) {
	if err != nil {
		return journal.Committed{}, err
	}
	answer, replayed := r.text(1), r.flag(0)
	if r.err != nil {
		return journal.Committed{}, r.err
	}
	return decodeCommitted(answer, replayed)
}

// Requests reads what was recorded for each hold, in one pipeline. See journal.Steps.
func (s *Store) Requests(ctx context.Context, holds []journal.Hold) ([]journal.Request, error) {
	requests := make([]journal.Request, len(holds))
	commands := make([]*redis.SliceCmd, len(holds))
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, hold := range holds {
			if checkID(hold.Execution) == nil {
				commands[i] = pipe.HMGet(ctx, s.keys.row(hold.Execution), "fence", "cancelAtMs", "pauseAtMs")
			}
		}
		return nil
	})
	for i, command := range commands {
		if command == nil {
			requests[i].Superseded = true
			continue
		}
		values, failed := command.Result()
		if failed != nil && !unreadable(failed) {
			return nil, refusal("requests", string(holds[i].Execution), failed)
		}
		if failed != nil || values[0] != string(holds[i].Fence) || holds[i].Fence == "" {
			requests[i].Superseded = true
			continue
		}
		requests[i] = journal.Request{CancelRequested: isSet(values[1]), PauseRequested: isSet(values[2])}
	}
	if err != nil && !unreadable(err) {
		return nil, refusal("requests", "", err)
	}
	return requests, nil
}

func isSet(value any) bool { return value != nil && value != "" }
