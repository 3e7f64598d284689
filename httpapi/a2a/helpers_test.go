package a2a_test

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

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/httpapi/a2a"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/memjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// patience bounds every wait.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	redistest.Main(m, func() error { return goleak.Find() })
}

type nowhere struct{}

func (nowhere) Enqueue(context.Context, ...execution.Task) error { return nil }

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))
}

// catalog is two published agents, demo and second, and one that is not.
func catalog(t testing.TB) *agent.Catalog {
	t.Helper()
	all := linktest.Catalog(t)
	var definitions []*agent.Definition
	for name, publish := range map[string]*agent.Publish{
		"demo": {Name: "Demo", Description: "Books trips.", Skills: []agent.Skill{
			{ID: "book", Name: "Book", Description: "Books a trip.", Tags: []string{"travel"}, Examples: []string{"Oslo, please"}},
		}},
		"priced": {}, "other": nil,
	} {
		definition, known := all.Agent(name)
		require.True(t, known)
		copied := *definition
		copied.Publish = publish
		if name == "priced" {
			copied.OutputSchema = json.RawMessage(`{"type": "object"}`)
		}
		definitions = append(definitions, &copied)
	}
	made, err := agent.NewCatalog(definitions...)
	require.NoError(t, err)
	return made
}

func memory(t testing.TB) *memjournal.Store {
	t.Helper()
	store, err := memjournal.New(journal.Config{})
	require.NoError(t, err)
	return store
}

// peer is one API process with its face, over a store.
type peer struct {
	*httptest.Server
	t      testing.TB
	server *httpapi.Server
	face   *a2a.Face
	store  journal.Store
	stop   func() // ends telling, if it runs
}

type change struct {
	face func(*a2a.Config)
	http func(*httpapi.Config)
	tell bool // run the pusher
}

func serve(t testing.TB, store journal.Store, c change) *peer {
	t.Helper()
	agents := catalog(t)
	service, err := link.New(link.Config{
		Journal: store, Catalog: agents, Enqueuer: nowhere{}, Opening: linktest.OpenWith,
		Boundary: linktest.BoundaryOf, Message: linktest.MessageOf, Call: linktest.CallOf, Forking: linktest.ForkWith,
		Reread: 50 * time.Millisecond, Logger: quiet(),
	})
	require.NoError(t, err)
	listening := httptest.NewUnstartedServer(nil)
	cfg := a2a.Config{
		Link: service, Catalog: agents, URL: "http://" + listening.Listener.Addr().String(), Pushes: store, PushLocal: true,
		Heartbeat: 50 * time.Millisecond, Version: "v0.0.0-test", Logger: quiet(),
		Push: a2a.PushTiming{Look: 20 * time.Millisecond, Backoff: 10 * time.Millisecond, Lease: 500 * time.Millisecond},
	}
	if c.face != nil {
		c.face(&cfg)
	}
	face, err := a2a.New(cfg)
	require.NoError(t, err)
	over := httpapi.Config{Link: service, Face: face, Heartbeat: 50 * time.Millisecond, Logger: quiet()}
	if c.http != nil {
		c.http(&over)
	}
	server, err := httpapi.New(over)
	require.NoError(t, err)
	listening.Config.Handler = server
	listening.Start()
	p := &peer{Server: listening, t: t, server: server, face: face, store: store, stop: func() {}}
	if c.tell {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- face.Run(ctx) }()
		p.stop = func() { cancel(); require.NoError(t, <-ended); p.stop = func() {} }
		t.Cleanup(func() { p.stop() })
	}
	t.Cleanup(listening.Close)
	t.Cleanup(server.Drain)
	return p
}

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// sends puts a header on every request of a client.
type sends struct {
	a2aclient.PassthroughInterceptor
	name, value string
}

func (s sends) Before(ctx context.Context, req *a2aclient.Request) (context.Context, error) {
	req.Meta[http.CanonicalHeaderKey(s.name)] = []string{s.value}
	return ctx, nil
}

// client is the SDK's client of an agent, made from its card.
func (p *peer) client(name string, headers ...string) *a2aclient.Client {
	p.t.Helper()
	card := p.card("/a2a/" + name + a2a.PathCard)
	options := []a2aclient.FactoryOption{a2aclient.WithJSONRPCTransport(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}})}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		options = append(options, a2aclient.WithInterceptors(sends{name: name, value: value}))
	}
	client, err := a2aclient.NewFromCard(bounded(p.t), card, options...)
	require.NoError(p.t, err)
	return client
}

func (p *peer) card(path string) *sdk.AgentCard {
	p.t.Helper()
	card, err := agentcard.DefaultResolver.Resolve(bounded(p.t), p.URL, agentcard.WithPath(path))
	require.NoError(p.t, err)
	return card
}

// rpc sends a request as it is.
func (p *peer) rpc(path, body string, headers ...string) (*http.Response, string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(bounded(p.t), http.MethodPost, p.URL+path, strings.NewReader(body))
	require.NoError(p.t, err)
	request.Header.Set("Content-Type", "application/json")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	require.NoError(p.t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return response, string(data)
}

func message(id, text string) *sdk.Message {
	return &sdk.Message{ID: id, Role: sdk.MessageRoleUser, Parts: sdk.ContentParts{sdk.TextPart{Text: text}}}
}

// send sends a message without waiting for what becomes of it.
func send(t testing.TB, c *a2aclient.Client, m *sdk.Message) *sdk.Task {
	t.Helper()
	task, err := trySend(t, c, m)
	require.NoError(t, err)
	return task
}

func trySend(t testing.TB, c *a2aclient.Client, m *sdk.Message) (*sdk.Task, error) {
	t.Helper()
	no := false
	result, err := c.SendMessage(bounded(t), &sdk.MessageSendParams{Message: m, Config: &sdk.MessageSendConfig{Blocking: &no}})
	if err != nil {
		return nil, err
	}
	task, is := result.(*sdk.Task)
	require.True(t, is)
	return task, nil
}

// to makes a message one to a task.
func to(task *sdk.Task, m *sdk.Message) *sdk.Message {
	m.TaskID = task.ID
	return m
}

func data(id string, values map[string]any) *sdk.Message {
	return &sdk.Message{ID: id, Role: sdk.MessageRoleUser, Parts: sdk.ContentParts{sdk.DataPart{Data: values}}}
}

func get(t testing.TB, c *a2aclient.Client, task *sdk.Task) *sdk.Task {
	t.Helper()
	got, err := c.GetTask(bounded(t), &sdk.TaskQueryParams{ID: task.ID})
	require.NoError(t, err)
	return got
}

// worker plays a worker on a task.
func (p *peer) worker(task *sdk.Task) *linktest.Worker {
	p.t.Helper()
	return linktest.Claim(p.t, p.store, execution.ID(task.ID))
}

// text is what a message says.
func text(m *sdk.Message) string {
	if m == nil {
		return ""
	}
	var all []string
	for _, part := range m.Parts {
		if said, is := part.(sdk.TextPart); is {
			all = append(all, said.Text)
		}
	}
	return strings.Join(all, "|")
}
