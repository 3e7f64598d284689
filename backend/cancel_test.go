package backend_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
)

// aborting is a run under way at a remote that can be told to end; started is closed when its backend runs.
func aborting(s *scene) (canceled, started chan struct{}) {
	s.remote.capabilities = backend.RemoteStatelessText()
	s.remote.capabilities.Cancellation = backend.CancelRemoteAbort
	canceled, started = make(chan struct{}), make(chan struct{})
	s.run.Canceled = canceled
	s.remote.root = func(ctx context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
		close(started)
		<-ctx.Done()
		return backend.RunResult{}, context.Cause(ctx)
	}
	s.remote.abort = func(context.Context, backend.AbortRequest) error {
		s.note("abort")
		return nil
	}
	return canceled, started
}

func TestContractB_Cancellation(t *testing.T) {
	t.Parallel()
	t.Run("cancellation", func(t *testing.T) {
		t.Parallel()
		s := newScene()
		canceled, started := aborting(s)
		s.run.Request.IsContinuation, s.run.PreviousState = true, state(1)
		s.record = &backend.RunRecord{State: state(2)}
		s.remote.abort = func(_ context.Context, request backend.AbortRequest) error {
			s.note("abort")
			require.Equal(t, backend.AbortRequest{
				AgentID: "far", Identity: s.run.Request.Identity, State: state(2), IsContinuation: true,
			}, request)
			return errors.New("only logged")
		}
		go func() { <-started; close(canceled) }()
		result, err := s.lead(t)
		require.NoError(t, err)
		require.Equal(t, backend.CanceledStatus(), result.Status)
		require.Equal(t, backend.TerminationReason{Kind: backend.TermCanceled}, result.Termination)
		require.Zero(t, result.Steps)
		require.True(t, result.Output.IsZero())
		require.Equal(t, state(2), s.record.State)
		require.Equal(t, []string{
			"emit run_start", "emit step_start", "abort", "keep", "emit step_end", "emit run_finish",
		}, s.noted())

		s = newScene()
		canceled, started = aborting(s)
		s.remote.capabilities.Cancellation = backend.CancelCooperative
		go func() { <-started; close(canceled) }()
		result, err = s.lead(t)
		require.NoError(t, err)
		require.Equal(t, backend.CanceledStatus(), result.Status, "an error because of the cancel is no failure")
		require.NotContains(t, s.noted(), "abort", "only of what supports it")
	})
}

func TestContractB_AbortRequest(t *testing.T) {
	t.Parallel()
	t.Run("BackendAbortRequest", func(t *testing.T) {
		t.Parallel()
		s := newScene()
		canceled, _ := aborting(s)
		close(canceled) // after a restart: the cancel is there before anything else
		s.record = &backend.RunRecord{State: state(9)}
		s.remote.root = func(context.Context, backend.RootRunRequest) (backend.RunResult, error) {
			s.note("backend")
			return completed("hi"), nil
		}
		var request backend.AbortRequest
		s.remote.abort = func(_ context.Context, got backend.AbortRequest) error {
			request = got
			return nil
		}
		_, err := s.lead(t)
		require.NoError(t, err)
		require.Equal(t, uint64(9), request.State.Revision, "the latest that was kept: the handle is in it")
		require.Nil(t, request.Parent)
		require.NotContains(t, s.noted(), "backend", "a canceled run asks its remote for nothing")
		require.NoError(t, backend.Base{}.Abort(t.Context(), request), "best effort")
	})
}

func TestACanceledBackendHandsItsStateOn(t *testing.T) {
	t.Parallel()
	s := newScene()
	canceled, started := aborting(s)
	s.remote.root = func(ctx context.Context, _ backend.RootRunRequest) (backend.RunResult, error) {
		close(started)
		<-ctx.Done()
		return backend.RunResult{State: state(5)}, nil
	}
	var aborted *backend.PersistedState
	s.remote.abort = func(_ context.Context, request backend.AbortRequest) error {
		aborted = request.State
		return nil
	}
	go func() { <-started; close(canceled) }()
	_, err := s.lead(t)
	require.NoError(t, err)
	require.Equal(t, state(5), aborted, "newer than what was kept")
}

func TestABackendThatDoesNotReturnIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene()
		canceled, started := aborting(s)
		release, gone := make(chan struct{}), make(chan struct{})
		var late error
		s.remote.root = func(ctx context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
			defer close(gone)
			close(started)
			<-release
			request.Sink.Emit(ctx, backend.TextDelta{Delta: "too late"})
			late = request.Checkpoints.Checkpoint(ctx, "conv", nil, backend.RunRecord{RunID: "run"})
			return completed("too late"), nil
		}
		go func() { <-started; close(canceled) }()
		begun := time.Now()
		result, err := s.lead(t)
		require.NoError(t, err)
		require.Equal(t, backend.CanceledStatus(), result.Status)
		require.Equal(t, s.cfg.Grace, time.Since(begun))
		before := s.noted()
		close(release)
		<-gone
		require.ErrorContains(t, late, "has ended")
		require.Equal(t, before, s.noted(), "it can emit and keep nothing any more")
	})
}

func TestARunWhoseContextEndsIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	fenced := errors.New("fenced")
	lead := func(s *scene, ctx context.Context) error {
		lifecycle, err := backend.NewLifecycle(s.cfg)
		require.NoError(t, err)
		_, err = lifecycle.Run(ctx, s.run)
		return err
	}
	s := newScene()
	_, started := aborting(s)
	ctx, end := context.WithCancelCause(t.Context())
	go func() { <-started; end(fenced) }()
	require.ErrorIs(t, lead(s, ctx), fenced)
	require.Equal(t, []string{"emit run_start", "emit step_start"}, s.noted(), "nothing is kept, aborted or finished")

	s = newScene()
	aborting(s)
	require.ErrorIs(t, lead(s, ctx), fenced)
	require.Empty(t, s.noted())
}

func TestWhatABackendReturnedIsKeptThoughTheContextEnds(t *testing.T) {
	t.Parallel()
	s := newScene()
	ctx, end := context.WithCancel(t.Context())
	s.remote.root = func(context.Context, backend.RootRunRequest) (backend.RunResult, error) {
		return completed("hi"), nil
	}
	s.cfg.Now = func() time.Time { // the first look at the clock after the backend's return
		if contains(s.noted(), "emit text_delta") {
			end()
		}
		return s.clock
	}
	lifecycle, err := backend.NewLifecycle(s.cfg)
	require.NoError(t, err)
	_, err = lifecycle.Run(ctx, s.run)
	require.NoError(t, err)
	require.Contains(t, s.noted(), "emit run_finish")
}

func TestNewLifecycleRefusesNegativeTimes(t *testing.T) {
	t.Parallel()
	_, err := backend.NewLifecycle(backend.LifecycleConfig{Grace: -1})
	require.ErrorContains(t, err, "negative")
}

// lookedAt is a context that calls look whenever somebody asks whether it has ended.
type lookedAt struct {
	context.Context
	look func() error
}

func (c lookedAt) Err() error { return c.look() }

// A backend may see the end, and return an error because of it, before its leader sees it: by the time the error is judged
// the end is there.
func TestAnErrorBecauseOfTheEndIsNoFailure(t *testing.T) {
	t.Parallel()
	lead := func(look func(canceled chan struct{}) error) (*scene, backend.RootRunResult, error) {
		s := newScene()
		canceled, _ := aborting(s)
		var returned atomic.Bool
		s.remote.root = func(context.Context, backend.RootRunRequest) (backend.RunResult, error) {
			returned.Store(true)
			return backend.RunResult{}, backend.RemoteError("connection closed")
		}
		lifecycle, err := backend.NewLifecycle(s.cfg)
		require.NoError(t, err)
		result, err := lifecycle.Run(lookedAt{t.Context(), func() error {
			if !returned.Load() {
				return nil
			}
			return look(canceled)
		}}, s.run)
		return s, result, err
	}
	var once sync.Once
	_, result, err := lead(func(canceled chan struct{}) error {
		once.Do(func() { close(canceled) })
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, backend.CanceledStatus(), result.Status)

	s, _, err := lead(func(chan struct{}) error { return context.Canceled })
	require.Error(t, err)
	require.NotContains(t, s.noted(), "keep")
}

func TestABackendIsSteeredAsItDeclares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		capabilities backend.Capabilities
		steered      bool
	}{{backend.Full(), true}, {backend.RemoteStatelessText(), false}} {
		s := newScene()
		s.remote.capabilities, s.run.Canceled = c.capabilities, make(chan struct{})
		s.run.Request.Control.Decisions = make(chan []backend.Decision)
		var control backend.Control
		s.remote.root = func(_ context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
			control = request.Control
			return completed("hi"), nil
		}
		_, err := s.lead(t)
		require.NoError(t, err)
		require.Equal(t, c.steered, control.Canceled != nil)
		require.Equal(t, c.steered, control.Decisions != nil)
	}
}
