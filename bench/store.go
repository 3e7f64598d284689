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
	ended func(id execution.ID) // called when an execution has ended
}

// Claim implements journal.Steps.
func (s *meteredStore) Claim(ctx context.Context, request journal.ClaimRequest) (journal.Claimed, error) {
	claimed, err := s.Store.Claim(s.meter.label(ctx, "claim"), request)
	if err == nil && claimed.Execution.Step == 0 && !claimed.Reclaimed {
		s.tally.started.Add(1)
		if s.spans != nil {
			s.spans.begin(request.Execution)
		}
	}
	return claimed, err
}

// Renew implements journal.Steps.
func (s *meteredStore) Renew(ctx context.Context, hold journal.Hold, ttl time.Duration) (journal.Renewed, error) {
	return s.Store.Renew(s.meter.label(ctx, "renew"), hold, ttl)
}

// Record implements journal.Steps.
func (s *meteredStore) Record(ctx context.Context, record journal.Record) (journal.Recorded, error) {
	return s.Store.Record(s.meter.label(ctx, "record"), record)
}

// Commit implements journal.Steps.
func (s *meteredStore) Commit(ctx context.Context, commit journal.Commit) (journal.Committed, error) {
	committed, err := s.Store.Commit(s.meter.label(ctx, "commit"), commit)
	if err == nil {
		s.count(commit, committed)
	}
	return committed, err
}

func (s *meteredStore) count(commit journal.Commit, committed journal.Committed) {
	s.tally.steps.Add(1)
	if commit.Node == string(executor.ToolReturn) {
		s.tally.turns.Add(1)
	}
	if committed.State.Terminal() {
		s.tally.ended.Add(1)
		if s.spans != nil {
			s.spans.end(commit.Execution)
		}
		s.ended(commit.Execution)
	}
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
	committed, enqueued, err := t.Pipeline.CommitAndEnqueue(t.store.meter.label(ctx, "commit and enqueue"), commit, next)
	if err == nil {
		t.store.count(commit, committed)
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
