package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/scripted"
	"github.com/pawl-run/pawl/execution"
)

type frames []execution.Frame

func (f *frames) Frame(frame execution.Frame) { *f = append(*f, frame) }

func model(t *testing.T, turns ...agent.ScriptedTurn) *scripted.Model {
	t.Helper()
	m, err := scripted.New(agent.Model{Provider: "scripted", Turns: turns})
	require.NoError(t, err)
	return m
}

func TestTheAttemptChoosesTheTurnAndTheLastOneRepeats(t *testing.T) {
	t.Parallel()
	m := model(t, agent.ScriptedTurn{Text: "one"}, agent.ScriptedTurn{Text: "two"})
	for attempt, want := range map[int]string{-1: "one", 0: "one", 1: "two", 2: "two", 99: "two"} {
		response, err := m.Generate(t.Context(), local.ModelRequest{Attempt: attempt}, new(frames))
		require.NoError(t, err)
		require.Equal(t, local.ModelResponse{Text: want, FinishReason: "stop"}, response)
	}
	_, err := scripted.New(agent.Model{Provider: "scripted"})
	require.Error(t, err)
}

func TestTextIsStreamedInWords(t *testing.T) {
	t.Parallel()
	const text = "  The quick brown\nfox jumps  over the lazy dog. "
	var got frames
	response, err := model(t, agent.ScriptedTurn{Text: text}).Generate(t.Context(), local.ModelRequest{}, &got)
	require.NoError(t, err)
	require.Equal(t, text, response.Text)
	require.Greater(t, len(got), 1)
	var joined strings.Builder
	for _, frame := range got {
		require.Equal(t, execution.FrameTextDelta, frame.Type)
		require.NotEmpty(t, frame.Text)
		joined.WriteString(frame.Text)
	}
	require.Equal(t, text, joined.String())

	got = nil
	_, err = model(t, agent.ScriptedTurn{}).Generate(t.Context(), local.ModelRequest{}, &got)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestToolCallsCarryProviderIDs(t *testing.T) {
	t.Parallel()
	response, err := model(t, agent.ScriptedTurn{
		Text:      "Looking.",
		ToolCalls: []agent.ScriptedToolCall{{Name: "a", Arguments: json.RawMessage(`{"x":1}`)}, {Name: "b"}},
		Usage:     &agent.ScriptedUsage{InputTokens: 10, OutputTokens: 5},
	}).Generate(t.Context(), local.ModelRequest{Attempt: 3}, new(frames))
	require.NoError(t, err)
	require.Equal(t, local.ModelResponse{
		Text: "Looking.", FinishReason: "tool_calls",
		ToolCalls: []execution.ToolCall{
			{Name: "a", Arguments: json.RawMessage(`{"x":1}`), ProviderID: "scripted_3_0"},
			{Name: "b", ProviderID: "scripted_3_1", Arguments: json.RawMessage(`{}`)},
		},
		Usage: &execution.Usage{InputTokens: 10, OutputTokens: 5, TotalTokens: 15},
	}, response)
}

func TestErrorsAreThoseOfAProvider(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		kind local.ErrorKind
		code string
	}{
		408: {local.Transient, "timeout"}, 409: {local.Transient, "conflict"}, 429: {local.Transient, "rate_limited"},
		500: {local.Transient, "model_unavailable"}, 502: {local.Transient, "model_unavailable"},
		503: {local.Transient, "overloaded"}, 504: {local.Transient, "model_unavailable"}, 529: {local.Transient, "overloaded"},
		400: {local.Permanent, "invalid_request"}, 401: {local.Permanent, "unauthorized"}, 403: {local.Permanent, "forbidden"},
		404: {local.Permanent, "model_not_found"}, 413: {local.Permanent, "request_too_large"},
		422: {local.Permanent, "invalid_request"}, 418: {local.Permanent, "invalid_request"},
	} {
		turn := agent.ScriptedTurn{Error: &agent.ScriptedError{Status: status, RetryAfter: 2 * time.Second}}
		_, err := model(t, turn).Generate(t.Context(), local.ModelRequest{}, new(frames))
		var classified *local.Error
		require.ErrorAs(t, err, &classified)
		require.Equal(t, want.kind, classified.Kind, status)
		require.Equal(t, want.code, classified.Code, status)
		require.NotEmpty(t, classified.Message)
		if want.kind == local.Transient {
			require.Equal(t, 2*time.Second, classified.RetryAfter)
		} else {
			require.Zero(t, classified.RetryAfter)
		}
	}
}

func TestDelayPassesAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model(t, agent.ScriptedTurn{Delay: time.Hour, Text: "late"})
		begun := time.Now()
		response, err := m.Generate(t.Context(), local.ModelRequest{}, new(frames))
		require.NoError(t, err)
		require.Equal(t, "late", response.Text)
		require.Equal(t, time.Hour, time.Since(begun))

		cause := errors.New("user cancel")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		begun = time.Now()
		_, err = m.Generate(ctx, local.ModelRequest{}, new(frames))
		require.ErrorIs(t, err, cause)
		require.Equal(t, time.Second, time.Since(begun))

		ctx, cancelNow := context.WithCancel(t.Context())
		cancelNow()
		_, err = model(t, agent.ScriptedTurn{Text: "now"}).Generate(ctx, local.ModelRequest{}, new(frames))
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestTimeoutOfTheModelIsTransient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, err := scripted.New(agent.Model{Timeout: time.Second, Turns: []agent.ScriptedTurn{{Delay: time.Hour}}})
		require.NoError(t, err)
		_, err = m.Generate(t.Context(), local.ModelRequest{}, new(frames))
		var classified *local.Error
		require.ErrorAs(t, err, &classified)
		require.Equal(t, local.Transient, classified.Kind)
		require.Equal(t, "timeout", classified.Code)
	})
}
