package backend_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
)

func (s *scene) leadOnly(t *testing.T) (backend.Led, error) {
	t.Helper()
	lifecycle, err := backend.NewLifecycle(s.cfg)
	require.NoError(t, err)
	return lifecycle.Lead(t.Context(), s.run)
}

func TestLeadLeavesTheEndToItsCaller(t *testing.T) {
	t.Parallel()
	s := newScene().answers(completed("hi"), nil)
	led, err := s.leadOnly(t)
	require.NoError(t, err)
	require.Equal(t, []string{"emit run_start", "emit step_start", "emit text_delta", "emit inference_complete"}, s.noted(),
		"nothing is kept, and the last events wait for the caller's write")
	require.Len(t, led.Messages, 3)
	require.Len(t, led.Last, 2)
	require.Equal(t, backend.EventStepEnd, led.Last[0].EventType())
	require.Equal(t, backend.EventRunFinish, led.Last[1].EventType())
	require.JSONEq(t, `{"text":"hi"}`, string(led.State.Extensions["__runtime_backend_output"]))

	s = newScene().answers(backend.RunResult{
		Status: backend.SuspendedStatus(nil), Termination: backend.TerminationReason{Kind: backend.TermSuspended},
		StatusReason: ptr(backend.AwaitingTasks), State: state(1),
	}, nil)
	led, err = s.leadOnly(t)
	require.NoError(t, err)
	require.True(t, led.Parked)
	require.Empty(t, led.Last)
}

func TestAnErrorThatIsTriedAgainEndsNothing(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	s := newScene().answers(backend.RunResult{}, &backend.Error{Kind: backend.ErrorRemote, Message: "down", Err: down})
	s.run.Again = func(err error) bool { return errors.Is(err, down) }
	_, err := s.lead(t)
	require.ErrorIs(t, err, down)
	require.Equal(t, []string{"emit run_start", "emit step_start"}, s.noted())

	s = newScene().answers(backend.RunResult{State: state(7)}, backend.RemoteError("gone"))
	s.run.Again, s.run.PreviousState = func(error) bool { return false }, state(1)
	led, err := s.leadOnly(t)
	require.NoError(t, err)
	require.Equal(t, backend.FailedStatus("gone"), led.Status)
	require.EqualError(t, led.Err, "remote error: gone")
	require.Equal(t, state(7), led.State, "a state that came with the error is newer than what is stored")
}

func TestAnAbortSaysWhetherTheRemoteTookIt(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]error{"taken": nil, "not taken": errors.New("down")} {
		s := newScene()
		canceled, _ := aborting(s)
		close(canceled)
		s.remote.abort = func(context.Context, backend.AbortRequest) error { return taken }
		led, err := s.leadOnly(t)
		require.NoError(t, err)
		require.Equal(t, taken == nil, led.Aborted, name)
	}
}
