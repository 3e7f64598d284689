package harness

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// ToolCall is one request that reached the tool server.
type ToolCall struct {
	Path      string
	Execution execution.ID
	CallID    execution.CallID
	Key       string // the Idempotency-Key header
	Arguments json.RawMessage
	Arrived   time.Time
	Ended     time.Time // zero while it is in flight
	Closed    bool      // the caller closed the connection before there was an answer
	Attempt   int       // 1 for the first request of this call
}

// Behavior answers a call. It returns when there is an answer or ctx, the caller's connection, has ended.
type Behavior func(ctx context.Context, call ToolCall) (status int, body string)

// ToolServer is a real HTTP tool server that remembers every call.
type ToolServer struct {
	URL string

	mu        sync.Mutex
	calls     []*ToolCall
	attempts  map[string]int // by effect id
	behaviors map[string]Behavior
}

// Tools starts a tool server. A path without behavior answers {"ok":true} at once.
func Tools(tb testing.TB) *ToolServer {
	tb.Helper()
	s := &ToolServer{attempts: map[string]int{}, behaviors: map[string]Behavior{}}
	server := httptest.NewServer(s)
	s.URL = server.URL
	tb.Cleanup(func() {
		server.CloseClientConnections() // calls that hang on purpose end with their connection
		server.Close()
	})
	return s
}

// Behave says how the path answers from now on.
func (s *ToolServer) Behave(path string, behavior Behavior) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviors[path] = behavior
}

// ServeHTTP records the call and answers it.
func (s *ToolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ExecutionID execution.ID     `json:"executionId"`
		CallID      execution.CallID `json:"callId"`
		Arguments   json.RawMessage  `json:"arguments"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	record := &ToolCall{
		Path: r.URL.Path, Execution: body.ExecutionID, CallID: body.CallID,
		Key: r.Header.Get("Idempotency-Key"), Arguments: body.Arguments, Arrived: time.Now(),
	}
	call, behavior := s.arrive(record)
	status, answer := http.StatusOK, `{"ok":true}`
	if behavior != nil {
		status, answer = behavior(r.Context(), call)
	}
	if s.leave(record, r.Context().Err() != nil) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(answer)) // the caller may have gone
}

// arrive notes the call and returns a copy of its record, and its behavior.
func (s *ToolServer) arrive(call *ToolCall) (ToolCall, Behavior) {
	s.mu.Lock()
	defer s.mu.Unlock()
	effect := execution.EffectID(call.Execution, call.CallID)
	s.attempts[effect]++
	call.Attempt = s.attempts[effect]
	s.calls = append(s.calls, call)
	return *call, s.behaviors[call.Path]
}

func (s *ToolServer) leave(call *ToolCall, closed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.Ended, call.Closed = time.Now(), closed
	return closed
}

// Calls lists the calls of a path, all paths for "".
func (s *ToolServer) Calls(path string) []ToolCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	var calls []ToolCall
	for _, call := range s.calls {
		if path == "" || call.Path == path {
			calls = append(calls, *call)
		}
	}
	return calls
}

// WaitCalls waits until n calls of the path have arrived.
func (s *ToolServer) WaitCalls(tb testing.TB, timeout time.Duration, path string, n int) []ToolCall {
	tb.Helper()
	Eventually(tb, timeout, "the tool server is called at "+path, func() bool { return len(s.Calls(path)) >= n })
	return s.Calls(path)
}

// Hang is the behavior of a tool that never answers: it returns when the caller has closed the connection.
func Hang(ctx context.Context, _ ToolCall) (int, string) {
	<-ctx.Done()
	return http.StatusOK, ""
}

// HangFirst hangs at the first request of a call and answers at once when it is sent again.
func HangFirst(ctx context.Context, call ToolCall) (int, string) {
	if call.Attempt == 1 {
		return Hang(ctx, call)
	}
	return http.StatusOK, `{"ok":true}`
}

// After answers after a time.
func After(delay time.Duration) Behavior {
	return func(ctx context.Context, _ ToolCall) (int, string) {
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
		return http.StatusOK, `{"ok":true}`
	}
}
