package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/memjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

const patience = time.Minute

func TestMain(m *testing.M) {
	redistest.Main(m, func() error { return goleak.Find() })
}

type nowhere struct{}

func (nowhere) Enqueue(context.Context, ...execution.Task) error { return nil }

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))
}

// api is one API process over a store.
type api struct {
	*httptest.Server
	t      testing.TB
	server *httpapi.Server
}

func serve(t testing.TB, store journal.Store, change ...func(*httpapi.Config)) *api {
	t.Helper()
	service, err := link.New(link.Config{
		Journal: store, Catalog: linktest.Catalog(t), Enqueuer: nowhere{}, Opening: linktest.OpenWith,
		Boundary: linktest.BoundaryOf, Message: linktest.MessageOf, Call: linktest.CallOf, Forking: linktest.ForkWith,
		Reread: 50 * time.Millisecond, Logger: quiet(),
	})
	require.NoError(t, err)
	cfg := httpapi.Config{Link: service, Heartbeat: 50 * time.Millisecond, Version: "v0.0.0-test", Logger: quiet()}
	for _, f := range change {
		f(&cfg)
	}
	server, err := httpapi.New(cfg)
	require.NoError(t, err)
	a := &api{Server: httptest.NewServer(openapitest.Handler(t, server)), t: t, server: server}
	t.Cleanup(a.Close)
	t.Cleanup(server.Drain)
	return a
}

func memory(t testing.TB) *memjournal.Store {
	t.Helper()
	store, err := memjournal.New(journal.Config{})
	require.NoError(t, err)
	return store
}

// answer is what came back.
type answer struct {
	*http.Response
	body string
}

func (a answer) decode(t testing.TB, out any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(a.body), out), a.body)
}

// do sends a request. A body without Content-Type among the headers is sent as JSON; headers are "Name: value".
func (a *api) do(method, path, body string, headers ...string) answer {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, a.URL+path, strings.NewReader(body))
	require.NoError(a.t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			request.Host = value
			continue
		}
		request.Header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	response, err := http.DefaultTransport.(*http.Transport).RoundTrip(request)
	require.NoError(a.t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(a.t, err)
	return answer{response, string(data)}
}

const validBody = `{"agent": "demo", "input": {"type": "user_message", "text": "hello"}}`

func (a *api) submit() execution.View {
	a.t.Helper()
	got := a.do(http.MethodPost, "/v1/executions", validBody)
	require.Equal(a.t, http.StatusAccepted, got.StatusCode, got.body)
	var view execution.View
	got.decode(a.t, &view)
	return view
}

// refused asserts a problem of the given shape.
func refused(t testing.TB, got answer, status int, code execution.ErrorCode, field string) {
	t.Helper()
	require.Equal(t, status, got.StatusCode, got.body)
	require.Equal(t, "application/problem+json", got.Header.Get("Content-Type"))
	var problem map[string]any
	got.decode(t, &problem)
	require.Equal(t, "about:blank", problem["type"])
	require.NotEmpty(t, problem["title"])
	require.EqualValues(t, status, problem["status"])
	require.Equal(t, string(code), problem["code"], got.body)
	named, _ := problem["field"].(string)
	require.Equal(t, field, named, got.body)
	require.NotEmpty(t, problem["detail"], got.body)
}
