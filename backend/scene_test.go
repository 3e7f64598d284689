package backend_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

// remote is a backend of functions.
type remote struct {
	backend.Base
	capabilities backend.Capabilities
	root         func(context.Context, backend.RootRunRequest) (backend.RunResult, error)
	abort        func(context.Context, backend.AbortRequest) error
}

func (r *remote) Capabilities() backend.Capabilities {
	if r.capabilities == (backend.Capabilities{}) {
		return r.Base.Capabilities()
	}
	return r.capabilities
}

func (r *remote) ExecuteRoot(ctx context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
	return r.root(ctx, request)
}

func (r *remote) Abort(ctx context.Context, request backend.AbortRequest) error {
	if r.abort == nil {
		return r.Base.Abort(ctx, request)
	}
	return r.abort(ctx, request)
}

// scene is one root run with a sink and a store that write down, in order, what reaches them.
type scene struct {
	remote *remote
	run    backend.RootRun
	cfg    backend.LifecycleConfig
	clock  time.Time

	mu       sync.Mutex
	log      []string           // guarded by mu
	events   []backend.Event    // guarded by mu
	record   *backend.RunRecord // guarded by mu
	messages []backend.Message  // guarded by mu
	loadErr  error              // guarded by mu
	keepErr  error              // guarded by mu
}

const golden = 1_764_420_000

// newScene is the run of an agent "far" with two messages; the backend is to be filled in.
func newScene() *scene {
	s := &scene{remote: &remote{}, clock: time.Unix(golden, 0)}
	s.cfg = backend.LifecycleConfig{
		Grace: 50 * time.Millisecond, Now: func() time.Time { return s.clock }, MessageID: func() string { return "m1" },
		Logger: slog.New(slog.DiscardHandler),
	}
	s.run = backend.RootRun{
		Agent: backend.NewResolvedAgent("far", "far-model", s.remote), CreatedAtMs: (golden - 5) * 1000,
		Request: backend.RootRunRequest{
			AgentID: "far", Sink: s, Checkpoints: s,
			Messages: []backend.Message{user("u1"), user("u2")},
			Identity: backend.RunIdentity{
				ConversationID: "conv", RunID: "run", ParentRunID: "parent", AgentID: "far",
				RunTrace: backend.RunTrace{TaskID: "run.3.1", SessionID: "s", TransportRequestID: "t"},
			},
		},
	}
	return s
}

func user(id string) backend.Message {
	return backend.Message{Message: execution.Message{Role: execution.RoleUser, Text: id}, ID: id}
}

func (s *scene) answers(result backend.RunResult, err error) *scene {
	s.remote.root = func(context.Context, backend.RootRunRequest) (backend.RunResult, error) { return result, err }
	return s
}

func (s *scene) lead(t *testing.T) (backend.RootRunResult, error) {
	t.Helper()
	lifecycle, err := backend.NewLifecycle(s.cfg)
	require.NoError(t, err)
	return lifecycle.Run(t.Context(), s.run)
}

func (s *scene) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

func (s *scene) noted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

func (s *scene) Emit(_ context.Context, event backend.Event) {
	s.note("emit " + string(event.EventType()))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
}

func (s *scene) LoadRun(ctx context.Context, _ execution.ID) (*backend.RunRecord, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loadErr != nil {
		return nil, s.loadErr
	}
	if s.record == nil {
		return nil, backend.ErrRunNotFound
	}
	record := *s.record
	return &record, nil
}

func (s *scene) Checkpoint(
	ctx context.Context, _ execution.ConversationID, messages []backend.Message, run backend.RunRecord,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.note("keep")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keepErr != nil {
		return s.keepErr
	}
	s.record, s.messages = &run, messages
	return nil
}

// state is a persisted state that is told apart by its revision.
func state(revision uint64) *backend.PersistedState {
	return &backend.PersistedState{Revision: revision}
}

func completed(text string) backend.RunResult {
	return backend.RunResult{
		Status: backend.CompletedStatus(), Termination: backend.TerminationReason{Kind: backend.NaturalEnd},
		Output: backend.OutputFromText(&text), Steps: 1,
	}
}
