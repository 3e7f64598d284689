package httptool_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// answering is what a call comes to when its server answers so.
func answering(t *testing.T, declared agent.Tool, status int, body string) (local.Answer, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	declared.URL = server.URL
	return newTool(t, declared).Call(t.Context(), invocation(), nil)
}

func TestDeferredAnswerIsAQuestionForTheResult(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]time.Duration{
		`{"deferred": true}`:                                 0,
		`{"deferred": true, "expiresAfterMs": 1500}`:         1500 * time.Millisecond,
		`{"deferred": true, "expiresAfterMs": -1}`:           0,
		`{"deferred": true, "expiresAfterMs": "soon"}`:       0,
		`{"deferred": true, "ticket": 7}`:                    0,
		`{"deferred": true, "expiresAfterMs": 9e15}`:         0,
		`{"deferred": true, "expiresAfterMs": 999999999999}`: 365 * 24 * time.Hour,
	} {
		answer, err := answering(t, agent.Tool{}, http.StatusAccepted, body)
		require.NoError(t, err, body)
		require.Nil(t, answer.Result, body)
		require.Equal(t, execution.ClientToolResult, answer.Question.Kind)
		require.Equal(t, want, answer.Question.ExpiresAfter, body)
		require.Equal(t, want > 0, answer.Question.OnExpiry == execution.ExpireReject, body)
		require.Contains(t, answer.Question.Prompt, "call_0_0")
	}
}

func TestAgentBoundsHowLongAResultMayTake(t *testing.T) {
	t.Parallel()
	bounded := agent.Tool{ExpiresAfter: time.Minute, OnExpiry: execution.ExpireFail}
	for body, want := range map[string]time.Duration{
		`{"deferred": true}`:                            time.Minute,
		`{"deferred": true, "expiresAfterMs": 1000}`:    time.Second,
		`{"deferred": true, "expiresAfterMs": 3600000}`: time.Minute,
	} {
		answer, err := answering(t, bounded, http.StatusAccepted, body)
		require.NoError(t, err)
		require.Equal(t, want, answer.Question.ExpiresAfter, body)
		require.Equal(t, execution.ExpireFail, answer.Question.OnExpiry)
	}
}

func TestOtherAnswersAreResults(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{
		`{"deferred":true}`:              http.StatusOK,
		`{"deferred":false}`:             http.StatusAccepted,
		`{"deferred":"yes"}`:             http.StatusAccepted,
		`{"accepted":true}`:              http.StatusAccepted,
		`["deferred"]`:                   http.StatusAccepted,
		`{"deferred":true,"n":1,"a":[]}`: http.StatusCreated,
	} {
		answer, err := answering(t, agent.Tool{}, status, body)
		require.NoError(t, err)
		require.Nil(t, answer.Question, body)
		require.JSONEq(t, body, string(answer.Result.Content))
	}
}
