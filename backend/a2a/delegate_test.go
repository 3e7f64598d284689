package a2a_test

import (
	"context"
	"net/http"
	"testing"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/backend/local"
)

func delegation(text string) backend.DelegateRunRequest {
	return backend.DelegateRunRequest{
		AgentID: "distant", NewMessages: []backend.Message{user(text)}, Policy: backend.DefaultDelegatePolicy(),
		Parent: backend.ParentContext{ParentRunID: "exec_1", ParentCallID: "call_0_1"},
	}
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestADelegateIsWaitedFor(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	peer := a2atest.New(t, a2atest.Until(done, "found"))
	peer.Intercept(func(_ http.ResponseWriter, _ *http.Request, m string, _ http.Handler) bool {
		if m == a2atest.Get && peer.Calls(a2atest.Get) == 2 {
			close(done)
		}
		return false
	})
	b := build(t, a2a.Config{}, endpoint(peer.URL, map[string]string{"pollMs": "5"}))
	result, err := b.ExecuteDelegate(bounded(t), delegation("find"))
	require.NoError(t, err)
	require.Equal(t, backend.CompletedStatus(), result.Status)
	require.Equal(t, "found", *result.Output.Text)
	require.Equal(t, 1, peer.Tasks())
	sent := peer.Sent(t)[0]
	require.Equal(t, "exec_1.call_0_1", sent.Message.ID, "the same however often the call is made")
	require.Empty(t, sent.Message.ContextID)
}

func TestADelegateThatAsksIsHandedBack(t *testing.T) {
	t.Parallel()
	peer := a2atest.New(t, asking(sdk.TaskStateInputRequired))
	b := build(t, a2a.Config{}, endpoint(peer.URL, map[string]string{"pollMs": "5"}))
	result, err := b.ExecuteDelegate(bounded(t), delegation("paint"))
	require.NoError(t, err)
	require.Equal(t, "waiting_input: Which color?", result.Status.String())
}

func TestADelegateBearsSomeFailures(t *testing.T) {
	t.Parallel()
	peer := a2atest.New(t, a2atest.Completing("hi"))
	peer.Intercept(a2atest.Answering(a2atest.Get, 503, 2))
	b := build(t, a2a.Config{}, endpoint(peer.URL, map[string]string{"pollMs": "5"}))
	result, err := b.ExecuteDelegate(bounded(t), delegation("greet"))
	require.NoError(t, err)
	require.Equal(t, "hi", *result.Output.Text)
	require.Equal(t, 1, peer.Tasks())
}

func TestADelegatesMessageIsSentOnceMore(t *testing.T) {
	t.Parallel()
	peer := a2atest.New(t, a2atest.Completing("hi"))
	peer.Intercept(a2atest.Losing(a2atest.Send, 1))
	b := build(t, a2a.Config{}, endpoint(peer.URL, map[string]string{"pollMs": "5"}))
	result, err := b.ExecuteDelegate(bounded(t), delegation("greet"))
	require.NoError(t, err)
	require.Equal(t, "hi", *result.Output.Text)
	sent := peer.Sent(t)
	require.Len(t, sent, 2)
	require.Equal(t, sent[0].Message.ID, sent[1].Message.ID)
}

func TestADelegateThatIsRefusedFails(t *testing.T) {
	t.Parallel()
	peer := a2atest.New(t, a2atest.Completing("hi"))
	peer.Intercept(a2atest.Answering(a2atest.Send, 401, -1))
	b := build(t, a2a.Config{}, endpoint(peer.URL, nil))
	_, err := b.ExecuteDelegate(bounded(t), delegation("greet"))
	classified(t, err, local.Permanent, a2a.CodeUnauthorized)
	require.Equal(t, 1, peer.Calls(a2atest.Send))
}

func TestADelegateNobodyWaitsForIsCanceledAtItsRemote(t *testing.T) {
	t.Parallel()
	for _, token := range []bool{false, true} {
		done := make(chan struct{})
		peer := a2atest.New(t, a2atest.Until(done, "never"))
		b := build(t, a2a.Config{}, endpoint(peer.URL, map[string]string{"pollMs": "5"}))
		ctx, cancel := context.WithCancelCause(bounded(t))
		request := delegation("work")
		canceled := make(chan struct{})
		if token {
			request.Control.Canceled = canceled
		}
		peer.Intercept(func(_ http.ResponseWriter, _ *http.Request, m string, _ http.Handler) bool {
			if m == a2atest.Get && peer.Calls(a2atest.Get) == 1 {
				if token {
					close(canceled)
				} else {
					cancel(errTest)
				}
			}
			return false
		})
		result, err := b.ExecuteDelegate(ctx, request)
		if token {
			require.NoError(t, err)
			require.Equal(t, backend.CanceledStatus(), result.Status)
		} else {
			require.ErrorIs(t, err, errTest)
		}
		require.Equal(t, 1, peer.Calls(a2atest.Cancel))
		close(done)
		cancel(nil)
	}
}
