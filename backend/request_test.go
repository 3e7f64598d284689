package backend_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

func TestContractB_ParentContext(t *testing.T) {
	t.Parallel()
	t.Run("BackendParentContext", func(t *testing.T) {
		t.Parallel()
		encoded, err := json.Marshal(backend.ParentContext{})
		require.NoError(t, err)
		require.Equal(t, `{}`, string(encoded), "all three are optional")
		encoded, err = json.Marshal(backend.ParentContext{ParentRunID: "r", ParentConversationID: "c", ParentCallID: "k"})
		require.NoError(t, err)
		require.Equal(t, `{"parentRunId":"r","parentConversationId":"c","parentCallId":"k"}`, string(encoded))
	})
}

func TestContractB_Control(t *testing.T) {
	t.Parallel()
	t.Run("BackendControl", func(t *testing.T) {
		t.Parallel()
		canceled, decisions := make(chan struct{}), make(chan []backend.Decision, 1)
		control := backend.NewControl(backend.Full(), canceled, decisions)
		require.NotNil(t, control.Canceled)
		decisions <- []backend.Decision{{Target: "call_0_0", Resume: backend.CallResume{Action: backend.ActionResume}}}
		require.Equal(t, "call_0_0", (<-control.Decisions)[0].Target, "batches of target and what to do")
		control = backend.NewControl(backend.RemoteStatelessText(), canceled, decisions)
		require.Nil(t, control.Canceled, "only what supports the token is given it")
		require.Nil(t, control.Decisions, "only what takes decisions is given the channel")
		abort := backend.RemoteStatelessText()
		abort.Cancellation = backend.CancelRemoteAbort
		require.Nil(t, backend.NewControl(abort, canceled, decisions).Canceled)
	})
}

func TestContractB_UnsupportedRootFeatures(t *testing.T) {
	t.Parallel()
	t.Run("unsupported_root_features", func(t *testing.T) {
		t.Parallel()
		least := backend.RemoteStatelessText()
		all := backend.RootRunRequest{
			Decisions: []backend.Decision{{}}, Overrides: &execution.Overrides{},
			FrontendTools: []execution.FrontendTool{{}}, IsContinuation: true,
		}
		require.Equal(t, []string{"decisions", "overrides", "frontend_tools", "continuation"}, least.UnsupportedRootFeatures(all))
		require.Empty(t, backend.Full().UnsupportedRootFeatures(all))
		require.Empty(t, least.UnsupportedRootFeatures(backend.RootRunRequest{}))
		live := backend.RootRunRequest{Control: backend.Control{Decisions: make(chan []backend.Decision)}}
		require.Equal(t, []string{"decisions"}, least.UnsupportedRootFeatures(live), "a live channel needs it too")
		least.Continuation = backend.ContinuationRemote
		require.Equal(t, []string{"decisions", "overrides", "frontend_tools"}, least.UnsupportedRootFeatures(all))
	})
}

func TestContractB_UnsupportedDelegateFeatures(t *testing.T) {
	t.Parallel()
	t.Run("unsupported_delegate_features", func(t *testing.T) {
		t.Parallel()
		odd := backend.DelegateRunRequest{Policy: backend.DelegatePolicy{Persistence: "kept", Continuation: "on"}}
		require.Equal(t, []string{"delegate_persistence", "continuation"},
			backend.RemoteStatelessText().UnsupportedDelegateFeatures(odd))
		require.Equal(t, []string{"delegate_persistence"}, backend.Full().UnsupportedDelegateFeatures(odd))
		usual := backend.DelegateRunRequest{Policy: backend.DefaultDelegatePolicy()}
		require.Empty(t, backend.RemoteStatelessText().UnsupportedDelegateFeatures(usual))
	})
}

type runtime struct {
	root     func(backend.RootRunRequest) (backend.RunResult, error)
	delegate func(backend.DelegateRunRequest) (backend.RunResult, error)
}

func (r runtime) RunRoot(_ context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
	return r.root(request)
}

func (r runtime) RunDelegate(_ context.Context, request backend.DelegateRunRequest) (backend.RunResult, error) {
	return r.delegate(request)
}

func TestContractB_RootRunRequest(t *testing.T) {
	t.Parallel()
	t.Run("BackendRootRunRequest", func(t *testing.T) {
		t.Parallel()
		_, err := backend.Local{}.ExecuteRoot(t.Context(), backend.RootRunRequest{})
		require.EqualError(t, err, "execution failed: local root execution requires a phase runtime context")
		old, said := backend.AssistantMessage("old"), backend.AssistantMessage("new")
		request := backend.RootRunRequest{
			Messages: []backend.Message{old, said}, NewMessages: []backend.Message{said}, IsContinuation: true,
		}
		request.Local = runtime{root: func(got backend.RootRunRequest) (backend.RunResult, error) {
			require.Equal(t, []backend.Message{old, said}, got.Messages, "the whole transcript, the new ones included")
			require.Equal(t, []backend.Message{said}, got.NewMessages)
			require.True(t, got.IsContinuation)
			require.Nil(t, got.Checkpoints, "nothing is kept without a store")
			return backend.RunResult{Steps: 3}, nil
		}}
		result, err := backend.Local{}.ExecuteRoot(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, 3, result.Steps)
	})
}

func TestContractB_DelegateRunRequest(t *testing.T) {
	t.Parallel()
	t.Run("BackendDelegateRunRequest/Policy", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, backend.DelegatePolicy{Persistence: "ephemeral", Continuation: "disabled"}, backend.DefaultDelegatePolicy())
		require.NotEqual(t, backend.DelegatePolicy{}, backend.DefaultDelegatePolicy(), "the zero value is no policy")
		request := backend.DelegateRunRequest{AgentID: "helper", Policy: backend.DefaultDelegatePolicy()}
		_, err := backend.ResolvedLocal().ExecuteDelegate(t.Context(), request)
		require.EqualError(t, err, "execution failed: local delegated execution requires a runtime context")
		request.Local = runtime{delegate: func(got backend.DelegateRunRequest) (backend.RunResult, error) {
			return backend.RunResult{AgentID: got.AgentID}, nil
		}}
		result, err := backend.ResolvedLocal().ExecuteDelegate(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, "helper", result.AgentID)
	})
}

func TestContractB_Backend(t *testing.T) {
	t.Parallel()
	t.Run("ExecutionBackend", func(t *testing.T) {
		t.Parallel()
		var least backend.Backend = struct{ backend.Base }{}
		require.Equal(t, backend.RemoteStatelessText(), least.Capabilities())
		require.NoError(t, least.Abort(t.Context(), backend.AbortRequest{}))
		_, err := least.ExecuteRoot(t.Context(), backend.RootRunRequest{})
		require.EqualError(t, err, "execution failed: backend does not support root execution")
		_, err = least.ExecuteDelegate(t.Context(), backend.DelegateRunRequest{})
		require.EqualError(t, err, "execution failed: backend does not support delegated execution")
	})
}

func TestContractB_Errors(t *testing.T) {
	t.Parallel()
	t.Run("ExecutionBackendError", func(t *testing.T) {
		t.Parallel()
		require.EqualError(t, backend.AgentNotFound("x"), "agent not found: x")
		require.EqualError(t, backend.ExecutionFailed("x"), "execution failed: x")
		require.EqualError(t, backend.RemoteError("x"), "remote error: x")
		loop := errors.New("inference failed: 500")
		require.EqualError(t, backend.LoopError(loop), "inference failed: 500", "transparent")
		require.ErrorIs(t, backend.LoopError(loop), loop)
		require.NoError(t, backend.LoopError(nil))
		for _, err := range []error{
			backend.AgentNotFound("x"), backend.ExecutionFailed("x"), backend.RemoteError("x"), errors.New("x"),
			backend.LoopError(errors.New("x")),
		} {
			require.Equal(t, "x", backend.ErrorMessage(err))
		}
	})
}

func TestSurroundingTypes_LocalStatus(t *testing.T) {
	t.Parallel()
	for want, termination := range map[string]backend.TerminationReason{
		"completed":                {Kind: backend.NaturalEnd},
		"canceled":                 {Kind: backend.TermCanceled},
		"suspended":                {Kind: backend.TermSuspended},
		"failed: stopped: timeout": {Kind: backend.Stopped, Detail: "timeout"},
		"failed: blocked: policy":  {Kind: backend.Blocked, Detail: "policy"},
		"failed: boom":             {Kind: backend.TermError, Detail: "boom"},
	} {
		require.Equal(t, want, backend.LocalStatus(termination).String())
	}
	require.Equal(t, backend.CompletedStatus(), backend.LocalStatus(backend.TerminationReason{Kind: backend.BehaviorRequested}))
}
