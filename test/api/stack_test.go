package api

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/app"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/redistest"
)

const patience = 30 * time.Second

func TestMain(m *testing.M) { redistest.Main(m) }

// agentsFile has an agent for every way that an execution can go.
const agentsFile = `
agents:
  quick: {model: {provider: scripted, turns: [{text: "Done."}]}}
  demo:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: lookup, arguments: {city: Oslo}}, {name: confirm, arguments: {question: "Book it?"}}]
        - {text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: confirm, type: human}
  refund:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: pay, arguments: {amount: 40}}, {name: pay, arguments: {amount: 2}}]
        - {text: "Paid."}
    tools: [{name: pay, type: http, url: "$TOOLS/pay", approval: always}]
  page:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: scroll, arguments: {lines: 3}}]
        - {text: "Scrolled."}
    tools: [{name: scroll, type: client}]
  large:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: read, arguments: {}}]
        - {text: "Read."}
    tools: [{name: read, type: http, url: "$TOOLS/large", recovery: read_only}]
    results: {over: store, limit: 1KiB}
  slow: {model: {provider: scripted, turns: [{delay: 20s, text: "At last."}]}}
  wrong: {model: {provider: scripted, turns: [{error: {status: 400}}]}}
  limited:
    model:
      provider: scripted
      turns: [{toolCalls: [{name: lookup, arguments: {city: Oslo}}]}, {text: "Done."}]
    tools: [{name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}]
    limits: {maxModelRequests: 1, onExceeded: suspend}
  real:
    model: {provider: openai, name: some, baseURL: "$TOOLS/v1", prices: {inputPer1M: 1, outputPer1M: 2}}
`

// tools answers the tools of the agents, and refuses as a model.
func tools(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the answer is the same
		w.Header().Set("Content-Type", "application/json")
		answer := `{"ok":true}`
		if strings.HasSuffix(r.URL.Path, "/large") {
			answer = `"` + strings.Repeat("x", 5000) + `"`
		}
		if strings.HasPrefix(r.URL.Path, "/v1") {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// caller is somebody with a key.
type caller struct {
	name, tenant, subject string
	role                  execution.CallerRole
	key                   string
}

// installation is Redis, API, worker and reaper, with keys.
type installation struct {
	redis   *redistest.Server
	url     string
	agents  string
	callers map[string]caller
	stop    func()
}

func (i *installation) journal() config.Journal {
	return config.Journal{HandoffGrace: time.Second, Retention: time.Hour, CleanupTimeout: time.Second, MaxEvents: 1000}
}

// install starts everything, as pawl dev does. mode says whether keys are asked for.
func install(t testing.TB, agents string, mode config.AuthMode) *installation {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agents.yaml")
	require.NoError(t, os.WriteFile(file, []byte(agents), 0o600))
	i := &installation{redis: redistest.Start(t), agents: file, callers: map[string]caller{}}
	if mode == config.AuthKeys {
		i.createKeys(t)
	}
	cfg := config.Dev{
		DevStore: config.DevStore{RedisURL: config.Secret(i.redis.URL())}, Journal: i.journal(),
		HTTP:      config.HTTP{Addr: "127.0.0.1:0", MaxBody: 1 << 20},
		Auth:      config.Auth{Auth: mode},
		DevAgents: config.DevAgents{AgentsFile: file},
		Work:      config.Work{Concurrency: 50, ClaimTTL: 2 * time.Second, DrainTimeout: time.Second, MaxReclaims: 5, NodesPerTask: 8},
		Reap:      config.Reap{ReapInterval: 200 * time.Millisecond},
	}
	up := make(chan app.Started, 1)
	i.stop = background(t, func(ctx context.Context) error {
		return app.RunDev(ctx, cfg, app.Deps{Logger: quiet()}, func(s app.Started) { up <- s })
	})
	select {
	case started := <-up:
		i.url = started.URL
	case <-time.After(patience):
		t.Fatal("it does not start")
	}
	i.awaitReady(t)
	return i
}

// apiAlone starts an API without a worker over the installation's Redis.
func (i *installation) apiAlone(t testing.TB, maxOpen int64) (stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	i.url = "http://" + listener.Addr().String()
	cfg := config.API{
		Store: config.Store{RedisURL: config.Secret(i.redis.URL())}, Journal: i.journal(),
		HTTP: config.HTTP{Addr: listener.Addr().String(), MaxBody: 1 << 20, MaxOpen: maxOpen},
		Auth: config.Auth{Auth: config.AuthKeys}, Agents: config.Agents{AgentsFile: i.agents},
	}
	stop = background(t, func(ctx context.Context) error {
		return app.RunAPI(ctx, cfg, app.Deps{Logger: quiet(), Listener: listener})
	})
	i.awaitReady(t)
	return stop
}

func (i *installation) awaitReady(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		response, err := http.Get(i.url + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close() // its status is enough
		return response.StatusCode == http.StatusOK
	}, patience, 20*time.Millisecond)
}

func (i *installation) createKeys(t testing.TB) {
	t.Helper()
	keys, err := auth.NewKeys(i.redis.Client(t), auth.KeysConfig{})
	require.NoError(t, err)
	for _, c := range []caller{
		{name: "operator", tenant: "acme", subject: "ann", role: execution.OperateRole},
		{name: "submitter", tenant: "acme", subject: "sam", role: execution.SubmitRole},
		{name: "other submitter", tenant: "acme", subject: "sue", role: execution.SubmitRole},
		{name: "reader", tenant: "acme", subject: "ray", role: execution.ReadRole},
		{name: "on call", tenant: execution.AllTenants, subject: "oli", role: execution.ReadRole},
		{name: "stranger", tenant: "globex", subject: "ann", role: execution.OperateRole},
	} {
		_, text, err := keys.Create(t.Context(), auth.NewKey{Tenant: c.tenant, Subject: c.subject, Role: c.role})
		require.NoError(t, err)
		c.key = text
		i.callers[c.name] = c
	}
}

// background runs a program until stop, which waits for its end, or the end of the test.
func background(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); stopped {
			return
		}
		stopped = true
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("a program ended with %v", err)
			}
		case <-time.After(patience):
			t.Errorf("a program does not end")
		}
	}
	t.Cleanup(stop)
	return stop
}

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))
}

func decode(t testing.TB, text []byte, out any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, out), string(text))
}
