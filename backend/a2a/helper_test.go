package a2a_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

const patience = 30 * time.Second

// endpoint is where the peer is, with the options given.
func endpoint(url string, options map[string]string) backend.Endpoint {
	e := backend.Endpoint{Backend: a2a.Kind, BaseURL: url, Timeout: time.Hour, Options: map[string]json.RawMessage{}}
	for key, value := range options {
		e.Options[key] = json.RawMessage(value)
	}
	return e
}

func build(t *testing.T, cfg a2a.Config, e backend.Endpoint) backend.Backend {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	factory, err := a2a.NewFactory(cfg)
	require.NoError(t, err)
	t.Cleanup(factory.Close)
	built, err := factory.Build(e)
	require.NoError(t, err)
	return built
}

// run plays the executor on one run: it keeps the state as bytes between calls.
type run struct {
	t          *testing.T
	backend    backend.Backend
	id         execution.ID
	talk       execution.ConversationID
	state      []byte // nil: nothing is kept
	transcript []backend.Message
	operation  string
}

func newRun(t *testing.T, b backend.Backend) *run {
	t.Helper()
	p := execution.RandomPartition()
	return &run{t: t, backend: b, id: execution.NewID(p), talk: execution.NewConversationID(p)}
}

func user(text string) backend.Message {
	return backend.Message{Message: execution.Message{Role: execution.RoleUser, Text: text}}
}

// request is the next call, with what the user says.
func (r *run) request(texts ...string) backend.RootRunRequest {
	request := backend.RootRunRequest{
		AgentID: "distant", OperationID: r.operation,
		Identity: backend.RunIdentity{RunID: r.id, ConversationID: r.talk, AgentID: "distant"},
	}
	for _, text := range texts {
		message := user(text)
		message.ID = string(r.id) + text
		request.NewMessages = append(request.NewMessages, message)
		r.transcript = append(r.transcript, message)
	}
	request.Messages = append([]backend.Message{}, r.transcript...)
	if r.state != nil {
		request.IsContinuation, request.State = true, new(backend.PersistedState)
		require.NoError(r.t, json.Unmarshal(r.state, request.State))
	}
	return request
}

// call makes the next call and keeps its state.
func (r *run) call(texts ...string) (backend.RunResult, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	result, err := r.backend.ExecuteRoot(ctx, r.request(texts...))
	if err == nil {
		r.keep(result)
	}
	return result, err
}

func (r *run) keep(result backend.RunResult) {
	r.t.Helper()
	require.NotNil(r.t, result.State)
	kept, err := json.Marshal(result.State)
	require.NoError(r.t, err)
	r.state = kept
}

// must is call without an error.
func (r *run) must(texts ...string) backend.RunResult {
	r.t.Helper()
	result, err := r.call(texts...)
	require.NoError(r.t, err)
	return result
}

func awaiting(result backend.RunResult) bool {
	return result.StatusReason != nil && *result.StatusReason == backend.AwaitingTasks
}

// finish looks until the run no longer works at its remote.
func (r *run) finish(result backend.RunResult) backend.RunResult {
	r.t.Helper()
	for deadline := time.Now().Add(patience); awaiting(result); {
		require.True(r.t, time.Now().Before(deadline), "the run does not end")
		result = r.must()
	}
	return result
}

// handle is what the state says of the remote task.
func (r *run) handle() map[string]any {
	r.t.Helper()
	var state backend.PersistedState
	require.NoError(r.t, json.Unmarshal(r.state, &state))
	var handle map[string]any
	require.NoError(r.t, json.Unmarshal(state.Extensions[a2a.StateKey], &handle))
	return handle
}

func (r *run) abort() error {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	request := r.request()
	return r.backend.Abort(ctx, backend.AbortRequest{
		AgentID: "distant", Identity: request.Identity, State: request.State, IsContinuation: true,
	})
}

// aborted aborts until that has worked: the peer's SDK cancels no task whose message it has not quite put away.
func (r *run) aborted() {
	r.t.Helper()
	eventually(r.t, "the abort works", func() bool { return r.abort() == nil })
}

// remote is a run at a peer that does what the script says.
func remote(t *testing.T, script a2atest.Script) (*run, *a2atest.Peer) {
	t.Helper()
	peer := a2atest.New(t, script)
	return newRun(t, build(t, a2a.Config{}, endpoint(peer.URL, nil))), peer
}

// classified is the failure of a remote.
func classified(t *testing.T, err error, kind local.ErrorKind, code string) local.Error {
	t.Helper()
	var outer *backend.Error
	require.ErrorAs(t, err, &outer)
	require.Equal(t, backend.ErrorRemote, outer.Kind)
	var failed *local.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, code, failed.Code, err)
	require.Equal(t, kind, failed.Kind, err)
	require.Equal(t, "remote error: "+failed.Message, err.Error())
	return *failed
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, patience, 5*time.Millisecond, what)
}

var errTest = errors.New("a test's error")

// clock is a time that only moves when it is set.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time   { return time.UnixMilli(c.at.Load()) }
func (c *clock) set(to time.Time) { c.at.Store(to.UnixMilli()) }
