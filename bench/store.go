package bench

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/queue"
)

// meteredStore counts steps, and says what each call is for.
type meteredStore struct {
	*redisjournal.Store
	meter *meter
	tally *tally
	spans *spans                // or nil
	path  *path                 // or nil
	ended func(id execution.ID) // called when an execution has ended
}

// Claim implements journal.Steps.
func (s *meteredStore) Claim(ctx context.Context, request journal.ClaimRequest) (journal.Claimed, error) {
	ctx, sent := s.tagged(ctx, "claim")
	claimed, err := s.Store.Claim(ctx, request)
	if err != nil {
		return claimed, err
	}
	if claimed.Execution.Step == 0 && !claimed.Reclaimed {
		s.tally.started.Add(1)
		if s.spans != nil {
			s.spans.begin(request.Execution)
		}
	}
	s.path.claimed(sent)
	return claimed, nil
}

// tagged labels the calls under ctx and says what they send.
func (s *meteredStore) tagged(ctx context.Context, name string) (context.Context, *tag) {
	sent := &tag{name: name}
	if !s.meter.detailed {
		return ctx, sent
	}
	return withTag(ctx, sent), sent
}

// Renew implements journal.Steps.
func (s *meteredStore) Renew(ctx context.Context, hold journal.Hold, ttl time.Duration) (journal.Renewed, error) {
	return s.Store.Renew(s.meter.label(ctx, "renew"), hold, ttl)
}

// Record implements journal.Steps.
func (s *meteredStore) Record(ctx context.Context, record journal.Record) (journal.Recorded, error) {
	ctx, sent := s.tagged(ctx, "record")
	recorded, err := s.Store.Record(ctx, record)
	s.path.recorded(sent)
	return recorded, err
}

// Messages implements journal.Reader.
func (s *meteredStore) Messages(ctx context.Context, id execution.ID, from, limit int) ([][]byte, error) {
	s.path.read()
	return s.Store.Messages(s.meter.label(ctx, "messages"), id, from, limit)
}

// Commit implements journal.Steps.
func (s *meteredStore) Commit(ctx context.Context, commit journal.Commit) (journal.Committed, error) {
	ctx, sent := s.tagged(ctx, "commit")
	committed, err := s.Store.Commit(ctx, commit)
	if err == nil {
		s.count(&commit, committed, sent)
	}
	return committed, err
}

func (s *meteredStore) count(commit *journal.Commit, committed journal.Committed, sent *tag) {
	s.tally.steps.Add(int64(commit.Reaches() - commit.Step))
	s.tally.turns.Add(batches(commit))
	s.path.committed(sent, commit)
	if committed.State.Terminal() {
		s.tally.ended.Add(1)
		if s.spans != nil {
			s.spans.end(commit.Execution)
		}
		s.ended(commit.Execution)
	}
}

// batches is how many batches of tool calls a commit writes: each turn has one.
func batches(commit *journal.Commit) (n int64) {
	if len(commit.Plan) > 0 {
		n++
	}
	for _, earlier := range commit.Earlier {
		if len(earlier.Plan) > 0 {
			n++
		}
	}
	return n
}

// meteredTrip counts and labels the commits that take the next task along.
type meteredTrip struct {
	executor.Pipeline
	store *meteredStore
	tasks *meteredTasks
}

// CommitAndEnqueue implements executor.Pipeline.
func (t *meteredTrip) CommitAndEnqueue(ctx context.Context, commit journal.Commit, next execution.Task) (
	journal.Committed, bool, error,
) {
	t.tasks.note(next)
	ctx, sent := t.store.tagged(ctx, "commit and enqueue")
	committed, enqueued, err := t.Pipeline.CommitAndEnqueue(ctx, commit, next)
	if err == nil {
		t.store.count(&commit, committed, sent)
	}
	return committed, enqueued, err
}

// Release implements journal.Steps.
func (s *meteredStore) Release(ctx context.Context, release journal.Release) (journal.Committed, error) {
	s.tally.failures.Add(1) // no node of a load hands back, except at its end
	return s.Store.Release(s.meter.label(ctx, "release"), release)
}

// Requests implements journal.Steps.
func (s *meteredStore) Requests(ctx context.Context, holds []journal.Hold) ([]journal.Request, error) {
	return s.Store.Requests(s.meter.label(ctx, "requests"), holds)
}

// meteredTasks labels enqueues and notes when they began.
type meteredTasks struct {
	*queue.Client
	meter    *meter
	handoffs *handoffs // or nil
}

// Enqueue implements executor.Enqueuer.
func (t *meteredTasks) Enqueue(ctx context.Context, tasks ...execution.Task) error {
	t.note(tasks...)
	return t.Client.Enqueue(t.meter.label(ctx, "enqueue"), tasks...)
}

func (t *meteredTasks) note(tasks ...execution.Task) {
	if t.handoffs == nil {
		return
	}
	for _, task := range tasks {
		t.handoffs.enqueued(task.ID())
	}
}
