// Package a2atest gives tests an agent that speaks A2A: the server of the protocol's own SDK, carrying out scripts, with its
// requests counted and made to fail. It recognizes no message that it has had before, so that whatever is sent twice counts
// twice.
package a2atest

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"

	"github.com/pawl-run/pawl/internal/a2arpc"
)

// The methods of the protocol that a backend uses.
const (
	Send        = a2arpc.Send
	Get         = a2arpc.Get
	Cancel      = a2arpc.Cancel
	Resubscribe = a2arpc.Resubscribe
	Card        = "card" // not a method: the request for the agent card
)

// Peer is a remote agent.
type Peer struct {
	URL string

	handler http.Handler
	card    *a2a.AgentCard
	agent   *agent

	mu     sync.Mutex
	calls  []Request   // guarded by mu
	before Interceptor // guarded by mu
}

// Request is a request that came.
type Request struct {
	Method string
	Header http.Header
	Body   []byte
}

// Interceptor sees a request before the agent does. It answers it and returns true, or returns false.
type Interceptor func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) bool

// New starts an agent that does what the script says at each message. It ends with the test.
func New(t testing.TB, script Script) *Peer {
	t.Helper()
	p := &Peer{agent: &agent{script: script, running: map[a2a.TaskID]*Session{}}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	t.Cleanup(func() {
		p.agent.stop()
		server.CloseClientConnections()
		server.Close()
	})
	p.URL = server.URL
	p.card = &a2a.AgentCard{
		Name: "scripted", Description: "Does what a test says.", Version: "1", ProtocolVersion: "0.3.0",
		URL: server.URL + "/rpc", PreferredTransport: a2a.TransportProtocolJSONRPC,
		Capabilities:      a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"}, Skills: []a2a.AgentSkill{},
	}
	p.handler = a2asrv.NewJSONRPCHandler(patient{a2asrv.NewHandler(p.agent, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))})
	return p
}

// Describe changes the agent card, before the first request.
func (p *Peer) Describe(change func(*a2a.AgentCard)) { change(p.card) }

// Intercept lets every request from now on pass through before.
func (p *Peer) Intercept(before Interceptor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = before
}

// Requests are those of the method that came so far, the oldest first; all of them when it is empty.
func (p *Peer) Requests(method string) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.calls), func(r Request) bool { return method != "" && r.Method != method })
}

// Calls counts the requests of the method.
func (p *Peer) Calls(method string) int { return len(p.Requests(method)) }

// Tasks counts the tasks that the agent has begun.
func (p *Peer) Tasks() int { return p.agent.tasks() }

// Canceled are the tasks that the agent was told to cancel, once each.
func (p *Peer) Canceled() []a2a.TaskID { return p.agent.canceledTasks() }

// Sent are the messages that came by message/send, the oldest first.
func (p *Peer) Sent(t testing.TB) []a2a.MessageSendParams {
	t.Helper()
	var all []a2a.MessageSendParams
	for _, request := range p.Requests(Send) {
		var body struct {
			Params a2a.MessageSendParams `json:"params"`
		}
		if err := json.Unmarshal(request.Body, &body); err != nil {
			t.Fatalf("a message that cannot be read: %v", err)
		}
		all = append(all, body.Params)
	}
	return all
}

func (p *Peer) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	method := Card
	if r.URL.Path == "/rpc" {
		var call struct {
			Method string `json:"method"`
		}
		_ = json.Unmarshal(body, &call) // what is no call has no method
		method = call.Method
	}
	p.mu.Lock()
	p.calls = append(p.calls, Request{Method: method, Header: r.Header.Clone(), Body: body})
	before := p.before
	p.mu.Unlock()
	next := http.HandlerFunc(p.answer)
	if before != nil && before(w, r, method, next) {
		return
	}
	next(w, r)
}

func (p *Peer) answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/rpc":
		w.Header().Set("Content-Type", "application/json")
		p.handler.ServeHTTP(w, r)
	case a2asrv.WellKnownAgentCardPath:
		a2asrv.NewStaticAgentCardHandler(p.card).ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

// ID is the id of a request as JSON, for whoever answers one in the agent's place.
func ID(r *http.Request) json.RawMessage {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var call struct {
		ID json.RawMessage `json:"id"`
	}
	if err != nil || json.Unmarshal(body, &call) != nil || call.ID == nil {
		return json.RawMessage("null")
	}
	return call.ID
}

// Answering answers requests of the method with a status, as long as times counts down to 0; a negative one is forever.
func Answering(method string, status, times int) Interceptor {
	var mu sync.Mutex
	return func(w http.ResponseWriter, _ *http.Request, m string, _ http.Handler) bool {
		mu.Lock()
		defer mu.Unlock()
		if m != method || times == 0 {
			return false
		}
		times--
		w.WriteHeader(status)
		return true
	}
}

// Losing carries requests of the method out and cuts the connection in place of the answer, so many times.
func Losing(method string, times int) Interceptor {
	var mu sync.Mutex
	return func(_ http.ResponseWriter, r *http.Request, m string, next http.Handler) bool {
		mu.Lock()
		lose := m == method && times > 0
		if lose {
			times--
		}
		mu.Unlock()
		if !lose {
			return false
		}
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}
