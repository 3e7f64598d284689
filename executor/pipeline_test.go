package executor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// oneTrip is a Pipeline over a store and a queue in memory.
type oneTrip struct {
	store Store
	queue *tasks
	sent  []execution.Task
	fail  error // of the commits, which then have no effect
	lose  bool  // the next answer, of a commit that has its effect
	full  bool  // nothing is enqueued
}

func (o *oneTrip) CommitAndEnqueue(ctx context.Context, commit journal.Commit, next execution.Task) (
	committed journal.Committed, enqueued bool, err error,
) {
	o.sent = append(o.sent, next)
	if err = o.fail; err == nil {
		committed, err = o.store.Commit(ctx, commit)
	}
	if !o.full {
		err = errors.Join(err, o.queue.Enqueue(ctx, next))
	}
	if o.lose {
		o.lose = false
		return journal.Committed{}, false, journal.ErrUnavailable
	}
	return committed, !o.full, err
}

// placed counts what is enqueued apart from a commit.
type placed struct {
	*tasks
	n int
}

func (p *placed) Enqueue(ctx context.Context, tasks ...execution.Task) error {
	p.n += len(tasks)
	return p.tasks.Enqueue(ctx, tasks...)
}

// piped is a worker whose commits and enqueues travel together.
func piped(t *testing.T, nodes int) (w *world, trip *oneTrip, apart *placed) {
	t.Helper()
	var lengths []int
	kit := twoTurns(&lengths)
	w = newWorld(t, &agent.Definition{}, kit, nil)
	trip, apart = &oneTrip{store: w.store, queue: w.queue}, &placed{tasks: w.queue}
	w.durable = w.worker(kit, func(c *Config) { c.Pipeline, c.Enqueuer, c.NodesPerTask = trip, apart, nodes })
	return w, trip, apart
}

func TestTaskOfTheNextStepTravelsWithTheCommit(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			w, trip, apart := piped(t, nodes)
			row := w.drive()
			require.Equal(t, execution.Completed, row.State)
			require.Zero(t, apart.n, "every task was foreseen")
			require.Len(t, trip.sent, (int(row.Step)-1)/nodes, "all but the last one")
			_, standing := w.queue.pop()
			require.False(t, standing)
		})
	}
}

func TestTaskThatWasNotPlacedWithItsCommitIsPlacedBehindIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, trip, apart := piped(t, 1)
		trip.full = true
		require.Equal(t, execution.Completed, w.drive().State)
		require.Len(t, trip.sent, apart.n)
	})
	synctest.Test(t, func(t *testing.T) { // the answer is lost: the repeated commit says what is to stand
		w, trip, apart := piped(t, 1)
		trip.lose = true
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Equal(t, 1, apart.n)
		require.Len(t, w.checkpoints(), int(row.Step)+1)
	})
}

// Whatever a commit comes to, the task that was sent with it does no harm.
func TestTaskOfARefusedCommitIsHarmless(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, trip, _ := piped(t, 1)
		trip.fail = journal.ErrFenced
		require.NoError(t, w.next())
		trip.fail = nil
		require.Equal(t, execution.Step(0), w.row().Step, "nothing was written")
		early, ok := w.queue.pop()
		require.True(t, ok)
		require.Equal(t, execution.Step(1), early.Step)
		for range maxAhead {
			var back *execution.PutBack
			require.ErrorAs(t, w.durable.Run(t.Context(), early), &back, "it came ahead of its row")
			require.LessOrEqual(t, back.After, 50*time.Millisecond)
		}
		require.NoError(t, w.durable.Run(t.Context(), early), "and is not awaited for ever")
		require.Equal(t, execution.Completed, w.drive().State)
	})
	synctest.Test(t, func(t *testing.T) {
		w, _, apart := piped(t, 1)
		task, _ := w.queue.pop()
		require.NoError(t, w.queue.Enqueue(t.Context(), task))
		require.NoError(t, w.next())
		_, err := w.store.Pause(t.Context(), w.id)
		require.NoError(t, err)
		for { // what stands finds the execution suspended
			task, ok := w.queue.pop()
			if !ok {
				break
			}
			require.NoError(t, w.durable.Run(t.Context(), task))
		}
		require.Equal(t, execution.Suspended, w.row().State)
		change, err := w.store.Resume(t.Context(), w.id, journal.Resumption{})
		require.NoError(t, err)
		require.NoError(t, w.queue.Enqueue(t.Context(), change.Tasks...))
		require.Equal(t, execution.Completed, w.drive().State)
		require.Zero(t, apart.n)
	})
}
