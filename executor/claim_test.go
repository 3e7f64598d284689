package executor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestClaimsThatAreNotGranted(t *testing.T) {
	t.Parallel()
	more := execution.Task{Execution: testID, Step: 9}
	for _, c := range []struct {
		name     string
		err      error
		min, max time.Duration
		done     bool
	}{
		{name: "stale", err: &journal.ClaimRefused{Reason: journal.ClaimStale}, done: true},
		{name: "busy", err: &journal.ClaimRefused{Reason: journal.ClaimBusy}, done: true},
		{name: "early", err: &journal.ClaimRefused{Reason: journal.ClaimEarly, RetryAfter: time.Hour}, done: true},
		{name: "ended", err: &journal.ClaimRefused{Reason: journal.ClaimEnded}, done: true},
		{name: "unknown id", err: journal.ErrNotFound, done: true},
		{name: "ahead", err: &journal.ClaimRefused{Reason: journal.ClaimAhead}, min: 5 * time.Millisecond, max: 50 * time.Millisecond},
		{name: "overloaded", err: &journal.ClaimRefused{Reason: journal.ClaimOverloaded}, min: 800 * time.Millisecond, max: 1200 * time.Millisecond},
		{name: "unavailable", err: journal.ErrUnavailable, min: 800 * time.Millisecond, max: 1200 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var refused *journal.ClaimRefused
			if errors.As(c.err, &refused) {
				refused.Tasks = []execution.Task{more}
			}
			queue := &tasks{}
			d, err := NewDurable(Config{
				Store: &flaky{before: func(string) error { return c.err }}, Builder: kits{}, Enqueuer: queue, Logger: quiet(),
			})
			require.NoError(t, err)
			err = d.Run(t.Context(), execution.Task{Execution: testID})
			var back *execution.PutBack
			require.Equal(t, !c.done, errors.As(err, &back))
			if !c.done {
				require.GreaterOrEqual(t, back.After, c.min)
				require.LessOrEqual(t, back.After, c.max)
			}
			require.Equal(t, refused != nil, queue.holds(more), "tasks are enqueued whatever the reason")
		})
	}
}

func TestFailingEnqueueIsLeftToTheDueIndex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: script(text("hi"))}, nil)
		w.queue.err = errors.New("queue down")
		require.NoError(t, w.next())
		require.Equal(t, int64(1), w.durable.Unplaced())
		require.Equal(t, string(PrepareModelRequest), w.row().Node)
		w.queue.err = nil
		require.Equal(t, execution.Completed, w.drive().State)
	})
}
