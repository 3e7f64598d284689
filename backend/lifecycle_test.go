package backend_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

func TestContractB_LifecycleOrder(t *testing.T) {
	t.Parallel()
	t.Run("execute_remote_root_lifecycle order", func(t *testing.T) {
		t.Parallel()
		s := newScene()
		s.remote.root = func(_ context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
			s.note("backend")
			require.Equal(t, s.run.Request.Messages, request.Messages)
			s.clock = s.clock.Add(1500 * time.Millisecond)
			return completed("hi"), nil
		}
		result, err := s.lead(t)
		require.NoError(t, err)
		require.Equal(t, "hi", result.Answer)
		require.Equal(t, []string{
			"emit run_start", "emit step_start", "backend", "emit text_delta", "emit inference_complete", "keep",
			"emit step_end", "emit run_finish",
		}, s.noted())
		identity := s.run.Request.Identity
		require.Equal(t, backend.RunStart{
			ConversationID: "conv", RunID: "run", ParentRunID: "parent", Identity: identity,
		}, s.events[0])
		require.Equal(t, backend.StepStart{MessageID: "m1"}, s.events[1])
		require.Equal(t, backend.InferenceComplete{Model: "far-model", DurationMs: 1500}, s.events[3])
		require.Equal(t, backend.RunFinish{
			ConversationID: "conv", RunID: "run", Identity: identity,
			Termination: backend.TerminationReason{Kind: backend.NaturalEnd},
			Result:      json.RawMessage(`{"response":"hi","status":"done","output":{"text":"hi"},"statusReason":"natural"}`),
		}, s.events[5])
	})
}

func TestContractB_LifecycleError(t *testing.T) {
	t.Parallel()
	t.Run("backend error", func(t *testing.T) {
		t.Parallel()
		for _, failure := range []error{
			backend.AgentNotFound("boom"), backend.ExecutionFailed("boom"), backend.RemoteError("boom"),
			backend.LoopError(errors.New("boom")),
		} {
			s := newScene().answers(backend.RunResult{}, failure)
			s.run.PreviousState, s.record = state(1), &backend.RunRecord{State: state(2)}
			result, err := s.lead(t)
			require.NoError(t, err)
			require.Equal(t, backend.FailedStatus("boom"), result.Status, "without the prefix of its kind")
			require.Equal(t, backend.TerminationReason{Kind: backend.TermError, Detail: "boom"}, result.Termination)
			require.Zero(t, result.Steps)
			require.Empty(t, result.Answer)
			require.Equal(t, state(2), s.record.State, "that of the latest checkpoint")
			require.Equal(t, []string{"emit run_start", "emit step_start", "keep", "emit step_end", "emit run_finish"}, s.noted())
			require.JSONEq(t, `{"response":"","status":"failed","statusReason":"error"}`,
				string(s.events[3].(backend.RunFinish).Result))
		}
		s := newScene().answers(backend.RunResult{}, backend.RemoteError("boom"))
		s.run.PreviousState, s.run.Request.Checkpoints = state(1), nil
		result, err := s.lead(t)
		require.NoError(t, err)
		require.Equal(t, state(1), result.State, "else the one before")
	})
}

func TestLifecycleTurnsAPanicIntoAFailure(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.remote.root = func(context.Context, backend.RootRunRequest) (backend.RunResult, error) { panic("nil map") }
	result, err := s.lead(t)
	require.NoError(t, err)
	require.Equal(t, "failed: the backend panicked: nil map", result.Status.String())
}

func TestContractB_LifecycleSuccess(t *testing.T) {
	t.Parallel()
	t.Run("success", func(t *testing.T) {
		t.Parallel()
		result := completed("")
		result.Output, result.Response = backend.RunOutput{}, ptr("from the response")
		s := newScene().answers(result, nil)
		s.run.PreviousState, s.record = state(1), &backend.RunRecord{State: state(2)}
		got, err := s.lead(t)
		require.NoError(t, err)
		require.Equal(t, "from the response", *got.Output.Text, "filled in from the response")
		require.Equal(t, uint64(1), s.record.State.Revision, "the state before, not the latest checkpoint")
		require.Len(t, s.messages, 3, "the answer is appended")
		require.Equal(t, execution.RoleAssistant, s.messages[2].Role)
		require.Len(t, s.run.Request.Messages, 2, "what was handed in stays")

		result.Response, result.State = ptr("ignored"), state(3)
		result.Output.Text = ptr("") // an empty text is a text
		s = newScene().answers(result, nil)
		got, err = s.lead(t)
		require.NoError(t, err)
		require.Empty(t, got.Answer)
		require.Equal(t, uint64(3), s.record.State.Revision)
		require.NotContains(t, s.noted(), "emit text_delta")
		require.Len(t, s.messages, 2)

		for kind, complete := range map[backend.TerminationKind]bool{
			backend.BehaviorRequested: true, backend.Stopped: false, backend.TermSuspended: false, backend.TermError: false,
		} {
			result := completed("x")
			result.Termination = backend.TerminationReason{Kind: kind}
			s := newScene().answers(result, nil)
			_, err := s.lead(t)
			require.NoError(t, err)
			require.Equal(t, complete, contains(s.noted(), "emit inference_complete"), kind)
		}
	})
}

func contains(list []string, entry string) bool {
	for _, e := range list {
		if e == entry {
			return true
		}
	}
	return false
}

func TestContractB_LatestState(t *testing.T) {
	t.Parallel()
	t.Run("load_checkpoint_state", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct {
			spoil func(*scene)
			want  uint64
		}{
			"no store":              {func(s *scene) { s.run.Request.Checkpoints = nil }, 1},
			"no run":                {func(*scene) {}, 1},
			"a run without a state": {func(s *scene) { s.record = &backend.RunRecord{} }, 1},
			"a state":               {func(s *scene) { s.record = &backend.RunRecord{State: state(2)} }, 2},
		} {
			s := newScene().answers(backend.RunResult{}, backend.RemoteError("boom"))
			s.run.PreviousState = state(1)
			c.spoil(s)
			result, err := s.lead(t)
			require.NoError(t, err, name)
			require.Equal(t, c.want, result.State.Revision, name)
		}
		// A read that fails once is passed over; the abort shows which state was taken.
		s := newScene()
		s.remote.capabilities = backend.RemoteStatelessText()
		s.remote.capabilities.Cancellation = backend.CancelRemoteAbort
		s.run.PreviousState, s.record, s.loadErr = state(1), &backend.RunRecord{State: state(2)}, errors.New("down")
		s.run.Canceled = closed()
		s.remote.abort = func(_ context.Context, request backend.AbortRequest) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			require.Equal(t, uint64(1), request.State.Revision)
			s.loadErr = nil
			return nil
		}
		_, err := s.lead(t)
		require.NoError(t, err)
	})
}

func closed() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func TestContractB_RunResult(t *testing.T) {
	t.Parallel()
	t.Run("BackendRunResult", func(t *testing.T) {
		t.Parallel()
		result := completed("x")
		result.Termination = backend.TerminationReason{Kind: backend.TermError, Detail: "disagrees"}
		result.StatusReason, result.RunID = ptr("my own"), "child"
		s := newScene().answers(result, nil)
		s.run.Request.State = state(4)
		got, err := s.lead(t)
		require.NoError(t, err)
		require.Equal(t, backend.CompletedStatus(), got.Status)
		require.Equal(t, backend.DurableDone, got.Durable)
		require.Equal(t, "my own", *got.StatusReason, "in place of the one that follows")
		require.Equal(t, uint64(4), s.record.State.Revision, "no state: the one before is kept")
		require.Equal(t, "child", got.RunID)
		require.Equal(t, execution.ID("run"), s.record.RunID, "the root's own")
	})
}

func TestContractB_Finish(t *testing.T) {
	t.Parallel()
	t.Run("finish", func(t *testing.T) {
		t.Parallel()
		s := newScene().answers(completed("hi"), nil)
		_, err := s.lead(t)
		require.NoError(t, err)
		require.Equal(t, &backend.PersistedState{Extensions: map[string]json.RawMessage{
			"__runtime_backend_output": json.RawMessage(`{"text":"hi"}`),
		}}, s.record.State, "a state of revision 0 begins")

		s = newScene().answers(completed("hi"), nil)
		before := &backend.PersistedState{Revision: 7, Extensions: map[string]json.RawMessage{"a": json.RawMessage(`1`)}}
		s.run.PreviousState = before
		_, err = s.lead(t)
		require.NoError(t, err)
		require.Len(t, s.record.State.Extensions, 2)
		require.Equal(t, uint64(7), s.record.State.Revision)
		require.Len(t, before.Extensions, 1, "what was handed in stays")

		empty := completed("")
		empty.Output = backend.RunOutput{}
		s = newScene().answers(empty, nil)
		_, err = s.lead(t)
		require.NoError(t, err)
		require.Nil(t, s.record.State)
		require.JSONEq(t, `{"response":"","status":"done","statusReason":"natural"}`,
			string(s.events[len(s.events)-1].(backend.RunFinish).Result))

		for name, spoil := range map[string]func(*scene){
			"the write fails": func(s *scene) { s.keepErr = errors.New("disk full") },
			"the read fails":  func(s *scene) { s.loadErr = errors.New("disk full") },
		} {
			s = newScene().answers(completed("hi"), nil)
			spoil(s)
			_, err = s.lead(t)
			require.ErrorIs(t, err, backend.ErrStorage, name)
			require.ErrorContains(t, err, "disk full", name)
			require.NotContains(t, s.noted(), "emit step_end", name)
			require.NotContains(t, s.noted(), "emit run_finish", name)
		}
	})
}

func TestFinishPassesOverAnOutputThatIsNoJSON(t *testing.T) {
	t.Parallel()
	result := completed("hi")
	result.Output.Raw = json.RawMessage(`{`)
	s := newScene().answers(result, nil)
	_, err := s.lead(t)
	require.NoError(t, err)
	require.Nil(t, s.record.State)
	require.JSONEq(t, `{"response":"hi","status":"done","output":null,"statusReason":"natural"}`,
		string(s.events[len(s.events)-1].(backend.RunFinish).Result))
}

func TestARunThatIsParkedIsBegunAndFinishedOnce(t *testing.T) {
	t.Parallel()
	parked := backend.RunResult{
		Status: backend.SuspendedStatus(nil), Termination: backend.TerminationReason{Kind: backend.TermSuspended},
		StatusReason: ptr(backend.AwaitingTasks), State: state(1),
	}
	s := newScene().answers(parked, nil)
	result, err := s.lead(t)
	require.NoError(t, err)
	require.True(t, result.Parked)
	require.Equal(t, backend.WaitingBackgroundTasks, s.record.Waiting.Reason)
	require.Equal(t, uint64(1), s.record.State.Revision, "kept before anybody waits")

	s.remote.root = func(_ context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
		require.Equal(t, uint64(1), request.State.Revision)
		return completed("hi"), nil
	}
	s.run.Request.IsContinuation, s.run.Request.State, s.run.Resumed = true, result.State, true
	result, err = s.lead(t)
	require.NoError(t, err)
	require.False(t, result.Parked)
	require.Equal(t, []string{
		"emit run_start", "emit step_start", "keep",
		"emit text_delta", "emit inference_complete", "keep", "emit step_end", "emit run_finish",
	}, s.noted())
}

func TestLifecycleEmitsNothingWhenTheBackendCannotBeBuilt(t *testing.T) {
	t.Parallel()
	broken := &validator{factory: factory{kind: "a2a", err: errors.New("no route")}}
	registry, err := backend.NewRegistry(broken)
	require.NoError(t, err)
	s := newScene()
	s.run.Agent, err = registry.Resolve("far", "m", backend.Endpoint{Backend: "a2a"})
	require.NoError(t, err)
	_, err = s.lead(t)
	require.ErrorIs(t, err, backend.ErrResolve)
	require.ErrorIs(t, err, broken.err)
	require.Empty(t, s.noted())
}
