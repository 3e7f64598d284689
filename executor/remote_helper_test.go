package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// peer is a backend that does what its functions say and writes down what it is asked.
type peer struct {
	backend.Base
	root  func(ctx context.Context, request backend.RootRunRequest) (backend.RunResult, error)
	abort func(backend.AbortRequest) error

	mu       sync.Mutex
	requests []backend.RootRunRequest // guarded by mu
	aborted  []backend.AbortRequest   // guarded by mu
}

func (p *peer) Capabilities() backend.Capabilities {
	return backend.Capabilities{
		Cancellation: backend.CancelRemoteAbort, Continuation: backend.ContinuationRemote, Waits: backend.WaitsInputAndAuth,
		Transcript: backend.TranscriptIncremental, Output: backend.OutputTextAndArtifacts,
	}
}

func (p *peer) ExecuteRoot(ctx context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
	p.mu.Lock()
	p.requests = append(p.requests, request)
	p.mu.Unlock()
	return p.root(ctx, request)
}

func (p *peer) Abort(_ context.Context, request backend.AbortRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aborted = append(p.aborted, request)
	if p.abort != nil {
		return p.abort(request)
	}
	return nil
}

func (p *peer) asked() []backend.RootRunRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]backend.RootRunRequest(nil), p.requests...)
}

// told are the calls that tell the peer something.
func (p *peer) told() []backend.RootRunRequest {
	var out []backend.RootRunRequest
	for _, request := range p.asked() {
		if len(request.NewMessages) > 0 {
			out = append(out, request)
		}
	}
	return out
}

func (p *peer) aborts() []backend.AbortRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]backend.AbortRequest(nil), p.aborted...)
}

// turns makes a peer that answers its calls one after the other, the last one for ever.
func turns(results ...backend.RunResult) *peer {
	p := &peer{}
	p.root = func(context.Context, backend.RootRunRequest) (backend.RunResult, error) {
		return results[min(len(p.asked()), len(results))-1], nil
	}
	return p
}

// handle is the state of a task at the peer.
func handle(task string) *backend.PersistedState {
	return &backend.PersistedState{Revision: 1, Extensions: map[string]json.RawMessage{
		"peer": json.RawMessage(fmt.Sprintf(`{"taskId":%q}`, task)),
	}}
}

func working(task string) backend.RunResult {
	reason := backend.AwaitingTasks
	return backend.RunResult{
		Status: backend.SuspendedStatus(nil), Termination: backend.TerminationReason{Kind: backend.TermSuspended},
		StatusReason: &reason, State: handle(task), After: time.Second,
	}
}

func waiting(status backend.RunStatus, task string) backend.RunResult {
	return backend.RunResult{
		Status: status, Termination: backend.TerminationReason{Kind: backend.TermSuspended}, State: handle(task),
	}
}

func done(text, task string) backend.RunResult {
	return backend.RunResult{
		Status: backend.CompletedStatus(), Termination: backend.TerminationReason{Kind: backend.NaturalEnd},
		Output: backend.OutputFromText(&text), Steps: 1, State: handle(task),
	}
}

// passingError is one that may pass.
func passingError() error {
	return &backend.Error{Kind: backend.ErrorRemote, Message: "connection refused", Err: &local.Error{
		Kind: local.Transient, Code: "unreachable", Message: "connection refused",
	}}
}

// remotes resolves every definition to one backend.
type remotes struct {
	carrier backend.Backend
	err     error
}

func (r remotes) Resolve(definition *agent.Definition) (*backend.ResolvedAgent, error) {
	if r.err != nil {
		return nil, r.err
	}
	return backend.NewResolvedAgent(definition.Name, "far-model", r.carrier), nil
}

// unregistered has no factory for any agent.
type unregistered struct{}

func (unregistered) Resolve(definition *agent.Definition) (*backend.ResolvedAgent, error) {
	registry, err := backend.NewRegistry()
	if err != nil {
		return nil, err
	}
	return registry.Resolve(definition.Name, "far-model", backend.Endpoint{Backend: "a2a"})
}

// brokenRemotes resolves to an agent whose backend cannot be built here.
type brokenRemotes struct{}

func (brokenRemotes) Resolve(definition *agent.Definition) (*backend.ResolvedAgent, error) {
	registry, err := backend.NewRegistry(brokenFactory{})
	if err != nil {
		return nil, err
	}
	return registry.Resolve(definition.Name, "far-model", backend.Endpoint{Backend: "a2a"})
}

type brokenFactory struct{}

func (brokenFactory) Backend() string                 { return "a2a" }
func (brokenFactory) Validate(backend.Endpoint) error { return nil }
func (brokenFactory) Build(backend.Endpoint) (backend.Backend, error) {
	return nil, backend.InvalidConfig("AGENT_TOKEN is not set")
}

func farAway() *agent.Definition {
	return &agent.Definition{
		Name: "far", Backend: agent.BackendA2A,
		Endpoint: &agent.Endpoint{URL: "http://127.0.0.1:1", Timeout: time.Minute, RequestTimeout: time.Second, Poll: time.Second},
	}
}

// beforeRemote is a situation right before the peer is called.
func beforeRemote(p *peer, change func(*situation)) situation {
	return at(BeforeModelRequest, func(s *situation) {
		s.definition, s.conversation = farAway(), "conv_1"
		s.kit, s.remote = &local.Kit{}, backend.NewResolvedAgent("far", "far-model", p)
		s.state.InvocationID = "inv_2"
		if change != nil {
			change(s)
		}
	})
}

// withRemotes is a world's configuration with the peer.
func withRemotes(p backend.Backend) func(*Config) {
	return func(cfg *Config) { cfg.Remotes = remotes{carrier: p} }
}

func noKit() *local.Kit { return &local.Kit{Model: fakeModel(nil)} }

func userSays(text string) execution.Message {
	return execution.Message{Role: execution.RoleUser, Text: text}
}

func texts(messages []backend.Message) []string {
	var out []string
	for _, message := range messages {
		out = append(out, message.Text)
	}
	return out
}

// undone are the clean-ups that an advance notes: the id of the task, or empty when nothing is to be undone any more.
func noted(t *testing.T, a advance) string {
	t.Helper()
	require.NotNil(t, a.cleanup)
	if len(*a.cleanup) == 0 {
		return ""
	}
	task, since := RemoteTask(*a.cleanup)
	require.NotZero(t, since)
	require.NotEmpty(t, task)
	return task
}

var errDown = errors.New("down")

// published is a store that writes down the frames and commits that reach it.
type published struct {
	Store
	mu     sync.Mutex
	frames []execution.Frame // guarded by mu; one without a type stands for a commit, whose boundary is its text
}

func (p *published) PublishFrame(ctx context.Context, id execution.ID, frame execution.Frame) (int, error) {
	p.mu.Lock()
	p.frames = append(p.frames, frame)
	p.mu.Unlock()
	return p.Store.PublishFrame(ctx, id, frame)
}

func (p *published) Commit(ctx context.Context, commit journal.Commit) (journal.Committed, error) {
	committed, err := p.Store.Commit(ctx, commit)
	p.mu.Lock()
	p.frames = append(p.frames, execution.Frame{Text: commit.Node})
	p.mu.Unlock()
	return committed, err
}

// behind are the types of what came after the first commit of the boundary, up to the first one of another kind of node
// than those of a remote run.
func (p *published) behind(t *testing.T, node string) []string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	begun := false
	for _, frame := range p.frames {
		switch {
		case frame.Type == "" && !begun:
			begun = frame.Text == node
		case !begun:
		case frame.Type != "":
			out = append(out, kindsOf(t, []execution.Frame{frame})...)
		case frame.Text == node || frame.Text == string(ModelResponse):
			out = append(out, "commit")
		}
	}
	return out
}

func taskOf(row journal.Execution) string {
	task, _ := RemoteTask(row.Cleanup)
	return task
}
