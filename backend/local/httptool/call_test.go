package httptool_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/httptool"
	"github.com/pawl-run/pawl/execution"
)

func TestCaseB7_TheEffectIDReachesTheTool(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "path": r.URL.RequestURI(), "type": r.Header.Get("Content-Type"),
			"key": r.Header.Get("Idempotency-Key"), "agent": r.Header.Get("User-Agent"),
			"auth": r.Header.Get("Authorization"), "body": string(body),
		})
	}))
	defer server.Close()
	tool := newTool(t, agent.Tool{
		URL: server.URL + "/lookup?a=b", Headers: map[string]string{"authorization": "Bearer ${TOKEN}"},
	})
	answer, err := tool.Call(t.Context(), invocation(), nil)
	require.NoError(t, err)
	require.Nil(t, answer.Question)
	require.False(t, answer.Result.IsError)
	require.Equal(t, execution.CallID("call_0_0"), answer.Result.CallID)
	require.Equal(t, "lookup", answer.Result.Name)
	require.JSONEq(t, `{
		"method": "POST", "path": "/lookup?a=b", "type": "application/json", "agent": "pawl", "auth": "Bearer s3cret",
		"key": "exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV:call_0_0",
		"body": "{\"executionId\":\"exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV\",\"callId\":\"call_0_0\",\"arguments\":{\"city\":\"Oslo\"}}"
	}`, string(answer.Result.Content))
}

func TestADelegatedCallCarriesTheTokenThatComesWithIt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(r.Header.Values("Authorization"))
	}))
	defer server.Close()
	tool := newTool(t, agent.Tool{URL: server.URL, Auth: agent.AuthDelegation})
	require.True(t, tool.Spec().Delegated)
	call := invocation()
	call.Credential = execution.NewCredential("delegated")
	answer, err := tool.Call(t.Context(), call, nil)
	require.NoError(t, err)
	require.JSONEq(t, `["Bearer delegated"]`, string(answer.Result.Content))
	require.False(t, newTool(t, agent.Tool{URL: server.URL}).Spec().Delegated)
}

func TestTheBodyIsTheResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status        int
		body, content string
		isError       bool
	}{
		{200, `{"rooms": [1, 2]}`, `{"rooms":[1,2]}`, false},
		{201, `12345678901234567`, `12345678901234567`, false},
		{200, `null`, `null`, false},
		{200, ` "text" `, `"text"`, false},
		{200, `plain <text>`, `"plain \u003ctext\u003e"`, false},
		{200, "{\"a\": \"\xff\"}", `"{\"a\": \"�\"}"`, false},
		{200, `{"a": 1} trailing`, `"{\"a\": 1} trailing"`, false},
		{204, ``, `""`, false},
		{400, `{"error": "no such city"}`, `{"error":"no such city"}`, true},
		{404, ``, `"404 Not Found"`, true},
		{422, `bad`, `"bad"`, true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		answer, err := newTool(t, agent.Tool{URL: server.URL}).Call(t.Context(), invocation(), nil)
		server.Close()
		require.NoError(t, err, c.body)
		require.Equal(t, c.content, string(answer.Result.Content), c.body)
		require.Equal(t, c.isError, answer.Result.IsError, c.body)
		if c.isError {
			require.Equal(t, execution.ToolExecution, answer.Result.ErrorKind)
		}
	}
}

func TestStatusesAreClassifiedByRecovery(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Arguments struct{ Status int } }
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(body.Arguments.Status)
		_, _ = io.WriteString(w, "a body with s3cret")
	}))
	defer server.Close()
	for _, recovery := range recoveries {
		tool := newTool(t, agent.Tool{URL: server.URL, Recovery: recovery})
		call := func(status string) error {
			in := invocation()
			in.Call.Arguments = json.RawMessage(`{"status":` + status + `}`)
			_, err := tool.Call(t.Context(), in, nil)
			return err
		}
		for status, code := range map[string]string{
			"408": "tool_unavailable", "425": "tool_unavailable", "429": "tool_rate_limited", "503": "tool_unavailable",
		} {
			err := call(status)
			failed(t, err, local.Transient, code)
			require.Equal(t, 7*time.Second, wish(t, err))
		}
		for _, status := range []string{"500", "501", "502", "504", "599"} {
			err := call(status)
			failed(t, err, afterSend(recovery), "tool_failed")
			require.Zero(t, wish(t, err))
		}
		require.NoError(t, call("409"))
	}
}

func TestRetryAfterMayBeADate(t *testing.T) {
	t.Parallel()
	for value, within := range map[string][2]time.Duration{
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat):  {58 * time.Minute, time.Hour},
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): {0, 0},
		"99999999999999999": {24 * time.Hour, 24 * time.Hour},
		"-5":                {0, 0},
		"soon":              {0, 0},
		"":                  {0, 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		_, err := newTool(t, agent.Tool{URL: server.URL}).Call(t.Context(), invocation(), nil)
		server.Close()
		failed(t, err, local.Transient, "tool_unavailable")
		require.GreaterOrEqual(t, wish(t, err), within[0], value)
		require.LessOrEqual(t, wish(t, err), within[1], value)
	}
}

func TestAnAnswerThatIsTooLongIsAnErrorResult(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/exact" {
			_, _ = io.WriteString(w, `"`+strings.Repeat("a", 98)+`"`)
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("a", 101))
	}))
	defer server.Close()
	client := newClient(t, httptool.Config{MaxBody: 100})
	answer, err := newToolOf(t, client, agent.Tool{URL: server.URL + "/exact"}).Call(t.Context(), invocation(), nil)
	require.NoError(t, err)
	require.False(t, answer.Result.IsError)
	require.Len(t, answer.Result.Content, 100)

	answer, err = newToolOf(t, client, agent.Tool{URL: server.URL}).Call(t.Context(), invocation(), nil)
	require.NoError(t, err)
	require.True(t, answer.Result.IsError)
	require.Contains(t, string(answer.Result.Content), "more than 100 bytes")
}

func TestTheDefaultLimitIsSixteenMebibytes(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := strings.Repeat("x", 1<<16)
		for range 1000 { // far more than is read; the client hangs up
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	answer, err := newTool(t, agent.Tool{URL: server.URL}).Call(t.Context(), invocation(), nil)
	require.NoError(t, err)
	require.True(t, answer.Result.IsError)
	require.Contains(t, string(answer.Result.Content), "more than 16777216 bytes")
}

func TestArgumentsThatAreMissingOrNoJSON(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	tool := newTool(t, agent.Tool{URL: server.URL})
	in := invocation()
	in.Call.Arguments = nil
	answer, err := tool.Call(t.Context(), in, nil)
	require.NoError(t, err)
	require.Contains(t, string(answer.Result.Content), `"arguments":{}`)

	in.Call.Arguments = json.RawMessage(`{`)
	answer, err = tool.Call(t.Context(), in, nil)
	require.NoError(t, err)
	require.Equal(t, execution.ToolInvalidArguments, answer.Result.ErrorKind)
}

func TestSpecIsTheDeclaration(t *testing.T) {
	t.Parallel()
	tool := newTool(t, agent.Tool{
		URL: "http://127.0.0.1:1", Description: "Looks.", Parameters: json.RawMessage(`{}`), Timeout: time.Second,
		Recovery: agent.Idempotent, OnUnknown: agent.UnknownFail, MaxRetries: 4,
	})
	require.Equal(t, local.ToolSpec{
		Name: "lookup", Description: "Looks.", Parameters: json.RawMessage(`{}`), Timeout: time.Second,
		Recovery: agent.Idempotent, OnUnknown: agent.UnknownFail, MaxRetries: 4,
	}, tool.Spec())
	_, isProber := tool.(local.Prober)
	require.False(t, isProber)
}

func TestNewClientValidates(t *testing.T) {
	t.Parallel()
	_, err := httptool.NewClient(httptool.Config{MaxBody: -1})
	require.ErrorContains(t, err, "MaxBody")
	_, err = httptool.NewClient(httptool.Config{DialTimeout: -1})
	require.ErrorContains(t, err, "DialTimeout")
}
