package httptool_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

func prober(t *testing.T, url string) local.Prober {
	t.Helper()
	tool := newTool(t, agent.Tool{
		URL: "http://127.0.0.1:1", Recovery: agent.Reconcile, Probe: &agent.Probe{URL: url},
		Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"},
	})
	p, ok := tool.(local.Prober)
	require.True(t, ok)
	return p
}

func TestProbeAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		state  local.ProbeState
		result string
		kind   local.ErrorKind
		code   string
	}{
		{200, `{"state": "done", "result": {"id": 7}}`, local.ProbeDone, `{"id":7}`, "", ""},
		{200, `{"state": "done"}`, local.ProbeDone, `null`, "", ""},
		{200, `{"state": "absent"}`, local.ProbeAbsent, "", "", ""},
		{200, `{"state": "pending", "more": 1}`, local.ProbePending, "", "", ""},
		{404, `not here`, local.ProbeAbsent, "", "", ""},
		{200, `{"state": "perhaps"}`, "", "", local.Permanent, "probe_failed"},
		{200, `{}`, "", "", local.Permanent, "probe_failed"},
		{200, `hello`, "", "", local.Permanent, "probe_failed"},
		{204, ``, "", "", local.Permanent, "probe_failed"},
		{401, ``, "", "", local.Permanent, "probe_failed"},
		{302, ``, "", "", local.Permanent, "probe_failed"},
		{429, ``, "", "", local.Transient, "tool_rate_limited"},
		{500, ``, "", "", local.Transient, "tool_failed"},
		{503, ``, "", "", local.Transient, "tool_unavailable"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		got, err := prober(t, server.URL).Probe(t.Context(), invocation())
		server.Close()
		if c.kind != "" {
			failed(t, err, c.kind, c.code)
			continue
		}
		require.NoError(t, err, c.body)
		require.Equal(t, c.state, got.State, c.body)
		if c.result == "" {
			require.Nil(t, got.Result)
			continue
		}
		require.Equal(t, c.result, string(got.Result.Content))
		require.Equal(t, invocation().Call.CallID, got.Result.CallID)
	}
}

func TestProbeSaysWhichCallAndCarriesNoIdempotencyKey(t *testing.T) {
	t.Parallel()
	requests := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, hasKey := r.Header["Idempotency-Key"]
		if !hasKey && r.Method == http.MethodPost && r.Header.Get("Authorization") == "Bearer s3cret" {
			requests <- string(body)
		}
		_, _ = io.WriteString(w, `{"state": "absent"}`)
	}))
	defer server.Close()
	_, err := prober(t, server.URL).Probe(t.Context(), invocation())
	require.NoError(t, err)
	require.Len(t, requests, 1)
	require.JSONEq(t, `{
		"executionId": "exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV", "callId": "call_0_0",
		"effectId": "exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV:call_0_0"
	}`, <-requests)
}

func TestProbeFailuresOnTheWayAreTransient(t *testing.T) {
	t.Parallel()
	cut := rawServer(t, func(conn net.Conn) { readRequest(conn) })
	_, err := prober(t, cut).Probe(t.Context(), invocation())
	failed(t, err, local.Transient, "tool_connection_lost")

	silent := rawServer(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = prober(t, silent).Probe(ctx, invocation())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	failed(t, err, local.Transient, "tool_timeout")
}
