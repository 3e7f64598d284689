package executor

import (
	"context"
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

// resumeWith resumes the execution with the limits, and drives it on.
func (w *world) resumeWith(limits execution.Limits) journal.Execution {
	w.t.Helper()
	overrides, err := agent.Adjustments{Limits: &limits}.Encode()
	require.NoError(w.t, err)
	change, err := w.store.Resume(w.t.Context(), w.id, journal.Resumption{Overrides: overrides})
	require.NoError(w.t, err)
	require.True(w.t, change.Changed)
	require.NoError(w.t, w.queue.Enqueue(w.t.Context(), change.Tasks...))
	return w.drive()
}

func TestTheLimitsOfAResumeHoldInPlaceOfAllOthers(t *testing.T) {
	t.Parallel()
	one := execution.Limits{MaxTurns: 1, SuspendOnExceeded: true}
	two := execution.Limits{MaxTurns: 2, SuspendOnExceeded: true}
	for name, own := range map[string]*execution.Limits{"the definition's": nil, "those of the submission": &one} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kit := &local.Kit{
					Model: script(calling("a"), calling("a"), text("done")), Tools: []local.Tool{tool("a", agent.ReadOnly, says("x"))},
				}
				definition := &agent.Definition{Limits: one}
				if own != nil {
					definition.Limits = execution.Limits{MaxTurns: 9}
				}
				w := newWorld(t, definition, kit, nil)
				if own != nil {
					w.id = w.overridden(definition, execution.CreateRequest{Limits: own})
				}
				require.Equal(t, execution.ReasonLimit, w.drive().Suspension.Reason)
				row := w.resumeWith(one)
				require.Equal(t, execution.Suspended, row.State, "a limit that is reached stops it at once, as before")
				row = w.resumeWith(two)
				require.Equal(t, "maxTurns (2)", row.Suspension.Detail, "it went on for a turn")
				row = w.resumeWith(execution.Limits{MaxTurns: 3})
				require.Equal(t, execution.Completed, row.State)
				require.Equal(t, "done", row.Outcome.Answer)
			})
		})
	}
}

// Cases A7 and D2: a worker that looks alive and does nothing loses its claim to an operator's word.
func TestAReleasedNodeIsCanceledAndWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hanging, canceled := make(chan struct{}), make(chan error, 1)
		kit := &local.Kit{Model: fakeModel(func(ctx context.Context, _ local.ModelRequest) (local.ModelResponse, error) {
			close(hanging)
			<-ctx.Done()
			canceled <- context.Cause(ctx)
			return local.ModelResponse{}, ctx.Err()
		})}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		w.to(BeforeModelRequest)
		watch, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = w.durable.Watch(watch) }() // ends with the context
		done := make(chan error, 1)
		go func() { done <- w.next() }()
		<-hanging
		<-time.After(time.Minute) // its claim is renewed all the while
		change, err := w.store.TakeBack(t.Context(), w.id)
		require.NoError(t, err)
		require.True(t, change.Changed)
		require.NoError(t, w.queue.Enqueue(t.Context(), change.Tasks...))
		require.True(t, errors.Is(<-canceled, ErrFenced), "its node ends at once")
		require.NoError(t, <-done)

		w.durable = w.worker(&local.Kit{Model: script(text("from another worker"))}, nil)
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Equal(t, "from another worker", row.Outcome.Answer)
		require.Zero(t, row.Reclaims)
		require.Equal(t, 1, countOf(w.types(), execution.TypeModelStarted), "no second started event")
		require.Equal(t, 1, countOf(w.types(), execution.TypeWarning), "the log says why it was begun again")
	})
}
