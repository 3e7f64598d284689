package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link/linktest"
)

type httpapiConfig = httpapi.Config

func TestASubmissionIsAnsweredWithItsAddress(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	got := a.do(post, creating, validBody, "Idempotency-Key: order-7")
	require.Equal(t, 202, got.StatusCode)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Empty(t, got.Header.Get("Idempotency-Replayed"))
	require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
	require.NotEmpty(t, got.Header.Get("X-Request-Id"))
	var view execution.View
	got.decode(t, &view)
	require.Equal(t, creating+"/"+string(view.ID), got.Header.Get("Location"))

	again := a.do(post, creating, validBody, "Idempotency-Key: order-7")
	require.Equal(t, 200, again.StatusCode)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, got.body, again.body)
	require.Equal(t, got.Header.Get("Location"), again.Header.Get("Location"))

	there := a.do(get, got.Header.Get("Location"), "")
	require.Equal(t, 200, there.StatusCode)
	require.Equal(t, got.body, there.body)
}

func TestAKeyMeansTheDecodedBodyAndNotItsBytes(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	first := `{"agent": "demo", "metadata": {"a": "1", "b": "2"}, "input": {"type": "user_message", "text": "h\u0065llo"}}`
	same := `{"input":{"text":"hello","type":"user_message"},"metadata":{"b":"2","a":"1"},"agent":"demo","priority":"normal"}`
	require.Equal(t, 202, a.do(post, creating, first, "Idempotency-Key: k").StatusCode)
	require.Equal(t, 200, a.do(post, creating, same, "Idempotency-Key: k").StatusCode)
	refused(t, a.do(post, creating, validBody, "Idempotency-Key: k"), 409, execution.IdempotencyKeyReused, "Idempotency-Key")
}

func TestCancelAnswersByWhatItDid(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	queued, held := a.submit(), a.submit()
	linktest.Claim(t, store, held.ID)
	for _, id := range []execution.ID{queued.ID, held.ID} {
		path := creating + "/" + string(id) + "/cancel"
		require.Equal(t, 202, a.do(post, path, "").StatusCode)
		require.Equal(t, 200, a.do(post, path, "{}").StatusCode, "nothing changed")
	}
}

func TestPauseAndResumeAnswerByWhatTheyDid(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	queued, held, ended := a.submit(), a.submit(), a.submit()
	linktest.Claim(t, store, held.ID)
	linktest.Claim(t, store, ended.ID).Complete("done")
	at := func(id execution.ID, command string) string { return creating + "/" + string(id) + "/" + command }
	for _, step := range []struct {
		path, body, state string
		status            int
	}{
		{at(queued.ID, "resume"), "", "queued", 200},
		{at(queued.ID, "pause"), "", "suspended", 202},
		{at(queued.ID, "pause"), "{}", "suspended", 200},
		{at(queued.ID, "resume"), `{"reason": "the tool is back"}`, "queued", 202},
		{at(queued.ID, "resume"), "{}", "queued", 200},
		{at(held.ID, "pause"), "", "running", 202},
		{at(held.ID, "pause"), "", "running", 200},
	} {
		got := a.do(post, step.path, step.body)
		require.Equal(t, step.status, got.StatusCode, "%s %s", step.path, got.body)
		require.Contains(t, got.body, `"state":"`+step.state+`"`, step.path)
	}
	require.Contains(t, a.do(get, creating+"/"+string(held.ID), "").body, `"pauseRequested":true`)
	refused(t, a.do(post, at(ended.ID, "pause"), ""), 409, execution.ExecutionEnded, "id")
	refused(t, a.do(post, at(ended.ID, "resume"), ""), 409, execution.ExecutionEnded, "id")
	refused(t, a.do(post, at(execution.NewID(1), "resume"), ""), 404, execution.NotFound, "id")
}

func TestAWaitIsAnsweredWhenTheStateChangesAndWhenTheServerDrains(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	answers := make(chan answer, 1)
	address := fmt.Sprintf("%s/%s?wait=300s&version=%d", creating, view.ID, view.Version)
	go func() { answers <- a.do(get, address, "") }()
	w := linktest.Claim(t, store, view.ID)
	got := <-answers
	require.Equal(t, 200, got.StatusCode)
	require.Contains(t, got.body, `"state":"running"`)

	go func() { answers <- a.do(get, creating+"/"+string(view.ID)+"?wait=60s", "") }()
	a.server.Drain()
	got = <-answers
	require.Equal(t, 200, got.StatusCode)
	require.Contains(t, got.body, `"state":"running"`)
	refused(t, a.do(get, "/readyz", ""), 503, execution.Unavailable, "")
	w.Complete("done")
}

func TestReadyzSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	var down error
	a := serve(t, memory(t), func(c *httpapiConfig) {
		c.Ready = func(context.Context) (httpapi.Readiness, error) {
			return httpapi.Readiness{Redis: map[string]string{"version": "7.0.15"}, Durability: "always"}, down
		}
	})
	got := a.do(get, "/readyz", "")
	require.Equal(t, 200, got.StatusCode)
	require.JSONEq(t, `{"status": "ready", "version": "v0.0.0-test", "redis": {"version": "7.0.15"}, "durability": "always"}`,
		got.body)
	require.Equal(t, 200, a.do(http.MethodHead, "/readyz", "").StatusCode)
	down = errors.New("dial tcp 10.0.0.7:6379: connection refused")
	got = a.do(get, "/readyz", "")
	refused(t, got, 503, execution.Unavailable, "")
	require.NotContains(t, got.body, "10.0.0.7")
	require.Equal(t, "1", got.Header.Get("Retry-After"))
	require.Equal(t, 200, a.do(get, "/livez", "").StatusCode, "the process lives")
}

func TestAgentsAreListed(t *testing.T) {
	t.Parallel()
	got := serve(t, memory(t)).do(get, "/v1/agents", "")
	require.Equal(t, 200, got.StatusCode)
	require.Contains(t, got.body, `{"agents":[{"id":"demo","backend":"local","capabilities":{"cancellation":`)
}

// faulty fails with an error that must not be told.
type faulty struct{ journal.Store }

func (faulty) Get(context.Context, execution.ID) (journal.Execution, error) {
	return journal.Execution{}, errors.New("secret: hunter2")
}

func (faulty) OpenExecutions(context.Context) (int64, error) { panic("secret: hunter2") }

func (faulty) Reserve(context.Context, journal.NewExecution) (journal.Reservation, error) {
	panic("secret: hunter2")
}

func TestAFaultIsLoggedUnderItsRequestAndNotTold(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := serve(t, faulty{memory(t)}, func(c *httpapiConfig) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, got := range []answer{
		a.do(get, creating+"/"+string(execution.NewID(1)), ""), a.do(post, creating, validBody),
	} {
		refused(t, got, 500, execution.Internal, "")
		request := got.Header.Get("X-Request-Id")
		require.Contains(t, got.body, request)
		require.NotContains(t, got.body, "hunter2")
		require.Contains(t, log.String(), "hunter2")
		require.Contains(t, log.String(), request)
	}
}

func TestOnlyFaultsAreLoggedForAllToSee(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	at := func(level slog.Level) func(*httpapiConfig) {
		return func(c *httpapiConfig) {
			log.Reset()
			c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		}
	}
	a := serve(t, memory(t), at(slog.LevelInfo))
	a.submit()
	a.do(get, "/nothing", "")
	require.Empty(t, log.String(), "what its client was told is no news")

	a = serve(t, memory(t), at(slog.LevelDebug))
	a.do(get, "/nothing", "")
	require.Regexp(t, `level=DEBUG msg=request method=GET path=/nothing status=404 `, log.String())

	a = serve(t, faulty{memory(t)}, at(slog.LevelInfo))
	a.do(get, creating+"/"+string(execution.NewID(1)), "")
	require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), "once: %s", log.String())

	a = serve(t, memory(t), at(slog.LevelInfo), func(c *httpapiConfig) {
		c.Monitoring = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) })
	})
	a.do(get, "/monitoring", "")
	require.Regexp(t, `level=ERROR msg=request method=GET path=/monitoring status=502 `, log.String())
}

func TestMonitoringIsServedWithItsOwnPaths(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t), func(c *httpapiConfig) {
		c.Monitoring = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, r.Method, " ", r.URL.Path)
		})
	})
	for _, path := range []string{"/monitoring", "/monitoring/", "/monitoring/static/js/main.js"} {
		got := a.do(get, path, "")
		require.Equal(t, "GET "+path, got.body)
		require.Empty(t, got.Header.Get("Content-Security-Policy"))
		require.Equal(t, "DENY", got.Header.Get("X-Frame-Options"))
	}
	require.Equal(t, 403, a.do(get, "/monitoring/", "", "Host: evil.example").StatusCode)
	require.Equal(t, 404, serve(t, memory(t)).do(get, "/monitoring", "").StatusCode)
}

func TestADrainCutsNoStreamInTheMiddle(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	s := openStream(t, a.URL, a.submit().ID, "")
	require.Equal(t, "1", s.event(t).id)
	a.server.Drain()
	require.NoError(t, s.rest(t), "the body ends as a whole")
}

func TestConfigNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := httpapi.New(httpapi.Config{})
	require.ErrorContains(t, err, "Link")
	for field, change := range map[string]func(*httpapi.Config){
		"MaxBody":      func(c *httpapi.Config) { c.MaxBody = -1 },
		"Heartbeat":    func(c *httpapi.Config) { c.Heartbeat = -1 },
		"WriteTimeout": func(c *httpapi.Config) { c.WriteTimeout = -1 },
	} {
		cfg := httpapi.Config{Link: noLink{}}
		change(&cfg)
		_, err := httpapi.New(cfg)
		require.ErrorContains(t, err, field)
	}
}

func TestAuthenticateNamesTheCaller(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t), func(c *httpapiConfig) {
		c.Authenticate = func(r *http.Request) (execution.Authority, error) {
			if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
				return execution.Authority{}, execution.NewAPIError(execution.Unauthenticated, "a bearer key is needed").
					In("Authorization")
			}
			return execution.Authority{Caller: execution.LocalCaller(), Role: execution.ReadRole}, nil
		}
	})
	refused(t, a.do(get, "/v1/agents", ""), 401, execution.Unauthenticated, "Authorization")
	require.Equal(t, 200, a.do(get, "/v1/agents", "", "Authorization: Bearer k", "Host: api.example").StatusCode)
	require.Equal(t, 403, a.do(post, creating, validBody, "Authorization: Bearer k").StatusCode)
	require.Equal(t, 200, a.do(get, "/livez", "").StatusCode)
}

func TestABlobIsJSONWithItsHashAsTag(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	id := a.submit().ID
	content := `{"rows": [` + strings.Repeat("1,", 500_000) + `1]}`
	hash := linktest.Claim(t, store, id).Store(content)
	path := creating + "/" + string(id) + "/blobs/" + hash
	got := a.do(get, path, "")
	require.Equal(t, 200, got.StatusCode)
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Equal(t, `"`+hash+`"`, got.Header.Get("ETag"))
	require.EqualValues(t, len(content), got.ContentLength)
	require.Equal(t, content, got.body)
	require.Equal(t, 304, a.do(get, path, "", `If-None-Match: "`+hash+`"`).StatusCode)
	part := a.do(get, path, "", "Range: bytes=0-5")
	require.Equal(t, 206, part.StatusCode)
	require.Equal(t, `{"rows`, part.body)
	refused(t, a.do(get, creating+"/"+string(id)+"/blobs/abc", ""), 400, execution.InvalidRequest, "hash")
	refused(t, a.do(get, path+"?x=1", ""), 400, execution.UnknownField, "x")
	refused(t, a.do(get, path, "", "Accept: text/html"), 406, execution.NotAcceptable, "Accept")
}
