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
)

func TestDrainLetsNodesFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		kit := &local.Kit{Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			<-release
			return text("hi"), nil
		})}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		w.to(BeforeModelRequest)
		done := w.start()
		synctest.Wait()
		drained := make(chan error, 1)
		go func() { drained <- w.durable.Drain(t.Context()) }()
		synctest.Wait()
		var back *execution.PutBack
		require.ErrorAs(t, w.durable.Run(t.Context(), execution.Task{Execution: w.id}), &back, "a peer takes the task")
		require.Zero(t, back.After)
		close(release)
		require.NoError(t, <-done)
		require.NoError(t, <-drained)
		require.Equal(t, string(ModelResponse), w.row().Node)
		require.NoError(t, w.durable.Drain(t.Context()), "draining again is fine")
	})
}

// Cases A8 and A9: a deploy hands its claims back; the next worker starts at once, and no reclaim is counted.
func TestCaseA9_DrainHandsClaimsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, asked, cause := hanging()
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: model}, nil)
		w.to(BeforeModelRequest)
		done := w.start()
		<-asked
		began := time.Now()
		require.NoError(t, w.durable.Drain(t.Context()))
		require.Equal(t, 30*time.Second, time.Since(began))
		require.NoError(t, <-done)
		require.ErrorIs(t, *cause.Load(), ErrDrained, "case D1: a shutdown is not a cancel")
		row := w.row()
		require.Equal(t, execution.Running, row.State)
		require.Nil(t, row.Claim)
		w.durable = w.worker(&local.Kit{Model: script(text("hi"))}, nil)
		require.NoError(t, w.next(), "its task is standing")
		require.Equal(t, execution.Completed, w.drive().State)
		require.NotContains(t, w.types(), execution.TypeWarning)
	})
}

func TestNodeThatDoesNotReturnLetsItsClaimRunOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		kit := &local.Kit{Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			<-release
			return text("too late"), nil
		})}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		w.to(BeforeModelRequest)
		done := w.start()
		synctest.Wait()
		require.ErrorIs(t, w.durable.Drain(t.Context()), ErrDrained)
		require.NotNil(t, w.row().Claim, "a claim whose node may still act is not handed back")
		<-time.After(16 * time.Second)
		w.durable = w.worker(&local.Kit{Model: script(text("from the second"))}, nil)
		row := w.drive()
		require.Equal(t, "from the second", row.Outcome.Answer)
		dump := w.dump()
		close(release)
		require.NoError(t, <-done)
		require.Equal(t, dump, w.dump(), "case B1: the late answer is refused")
	})
}

// Case A22: the final write does not use the context that has ended.
func TestCaseA22_FinalWritesOutliveTheTasksContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, asked, cause := hanging()
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: model}, nil)
		w.to(BeforeModelRequest)
		task, ok := w.queue.pop()
		require.True(t, ok)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.durable.Run(ctx, task) }()
		<-asked
		cancel()
		require.NoError(t, <-done)
		require.ErrorIs(t, *cause.Load(), ErrDrained)
		require.Nil(t, w.row().Claim, "released")
		_, standing := w.queue.pop()
		require.True(t, standing, "and enqueued")
	})
}

func TestCaseD1_ShutdownAndCancelAreDifferentCauses(t *testing.T) {
	t.Parallel()
	causes := []error{ErrUserCancel, ErrFenced, ErrTrustEnded, ErrDrained, ErrDeadline}
	for i, one := range causes {
		for j, other := range causes {
			require.Equal(t, i == j, errors.Is(one, other), "case D1")
		}
	}
}
