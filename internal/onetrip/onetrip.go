// Package onetrip sends the commit of a step and the enqueueing of the next one in one round trip.
//
// It knows the journal in Redis and the queue, which know nothing of each other, and neither what a step is nor what Asynq
// writes. On one server the enqueue is carried out right behind the commit, whether or not that was refused: a task that
// nothing was committed for is a late or an early one, as any task may be. With a Cluster, journal and queue are on
// different servers, and nobody could say which comes first: there New returns nil.
package onetrip

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/journal"
)

// Store is what is needed of the journal in Redis.
type Store interface {
	Commit(ctx context.Context, commit journal.Commit) (journal.Committed, error)
	// Send sends commands in one round trip. An error is that ctx has ended: the commands must not be looked at then.
	Send(ctx context.Context, cmds ...redis.Cmder) error
	// CommitIn appends a commit to the pipeline. What it returns gives its answer once the pipeline was sent.
	CommitIn(ctx context.Context, pipe redis.Pipeliner, commit journal.Commit) (
		answer func(ctx context.Context) (journal.Committed, error), err error)
}

// Tasks is what is needed of the queue's client.
type Tasks interface {
	// EnqueueIn appends an enqueue to the pipeline. What it returns says, once the pipeline was sent, whether the task
	// stands.
	EnqueueIn(ctx context.Context, pipe redis.Pipeliner, task execution.Task) (placed func() error, err error)
}

type pipeline struct {
	rdb   *redis.Client
	store Store
	tasks Tasks
}

// New joins a store and a queue's client that are on the server of rdb. It is nil when rdb is more than one server.
func New(rdb redis.UniversalClient, store Store, tasks Tasks) executor.Pipeline {
	one, ok := rdb.(*redis.Client)
	if !ok {
		return nil
	}
	return &pipeline{rdb: one, store: store, tasks: tasks}
}

// CommitAndEnqueue implements executor.Pipeline.
func (p *pipeline) CommitAndEnqueue(ctx context.Context, commit journal.Commit, next execution.Task) (
	committed journal.Committed, enqueued bool, err error,
) {
	pipe := p.rdb.Pipeline()
	answer, err := p.store.CommitIn(ctx, pipe, commit)
	if err != nil {
		return journal.Committed{}, false, err
	}
	placed, err := p.tasks.EnqueueIn(ctx, pipe, next)
	if err != nil {
		committed, err = p.store.Commit(ctx, commit)
		return committed, false, err
	}
	if err = p.store.Send(ctx, pipe.Cmds()...); err != nil {
		return journal.Committed{}, false, fmt.Errorf("onetrip: commit %s: %w: %w", commit.Execution, journal.ErrUnavailable, err)
	}
	enqueued = placed() == nil
	committed, err = answer(ctx)
	return committed, enqueued, err
}
