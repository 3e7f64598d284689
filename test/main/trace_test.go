package main_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// spans takes what programs export by OTLP over HTTP.
type spans struct {
	mu   sync.Mutex
	seen map[string]*otlp.Span // guarded by mu; by span id
	raw  strings.Builder       // guarded by mu
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(data, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(data)
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.seen[hex.EncodeToString(span.GetSpanId())] = span
			}
		}
	}
}

// all are the spans whose trace is the given one.
func (s *spans) all(trace string) map[string]*otlp.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]*otlp.Span)
	for id, span := range s.seen {
		if hex.EncodeToString(span.GetTraceId()) == trace {
			found[id] = span
		}
	}
	return found
}

const tracedAgents = `agents:
  demo:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: lookup, arguments: {city: Oslo-secret}}]
        - {text: "Booked-secret."}
    tools: [{name: lookup, type: http, url: "%s", recovery: idempotent}]
`

// TestTrace_AnExecutionIsOneTraceAcrossProcessesAndDeaths kills two workers in the middle of a tool call. What the API and three
// workers export is one tree below the caller's span.
func TestTrace_AnExecutionIsOneTraceAcrossProcessesAndDeaths(t *testing.T) {
	t.Parallel()
	exported := &spans{seen: make(map[string]*otlp.Span)}
	sink := httptest.NewServer(exported)
	t.Cleanup(sink.Close)
	called := make(chan struct{})
	var calls atomic.Int32
	tool := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= 2 { // until its worker is dead
			_, _ = io.Copy(io.Discard, r.Body)
			called <- struct{}{}
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"weather":"fine"}`)
	}))
	t.Cleanup(tool.Close)
	s := harness.New(t, harness.Config{
		Agents: fmt.Sprintf(tracedAgents, tool.URL), Tag: "none",
		Env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": sink.URL, "OTEL_BSP_SCHEDULE_DELAY": "50"},
	})
	api := s.API()
	s.Reaper()
	const trace, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	ctx, cancel := context.WithTimeout(t.Context(), endTimeout)
	defer cancel()
	answer, err := api.Do(ctx, http.MethodPost, "/v1/executions",
		map[string]string{"Traceparent": "00-" + trace + "-" + caller + "-01"},
		map[string]any{"agent": "demo", "input": map[string]any{"type": "user_message", "text": "Oslo-secret"}})
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.Status, string(answer.Body))
	view, err := answer.View()
	require.NoError(t, err)
	for range 2 {
		worker := s.Worker()
		select {
		case <-called:
		case <-ctx.Done():
			t.Fatal("the tool was not called")
		}
		harness.Eventually(t, endTimeout, "what the first worker has done is exported", func() bool {
			return named(exported.all(trace), "chat scripted") == 1
		})
		worker.Kill()
	}
	s.Worker()
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	var found map[string]*otlp.Span
	harness.Eventually(t, endTimeout, "the spans are exported", func() bool {
		found = exported.all(trace)
		return named(found, "invoke_agent demo") == 1 && named(found, "execute_tool lookup") == 1
	})
	require.Equal(t, 1, named(found, "POST /v1/executions"))
	require.Equal(t, 2, named(found, "chat scripted"))
	require.Equal(t, 2, named(found, "node before_model_request"), "of the first worker and the last")
	for id, span := range found {
		parent := hex.EncodeToString(span.GetParentSpanId())
		if parent != caller {
			require.Contains(t, found, parent, "%s %s hangs in the air", id, span.GetName())
		}
	}
	exported.mu.Lock()
	defer exported.mu.Unlock()
	require.NotContains(t, exported.raw.String(), "secret", "what people and models say is in no span")
}

func named(spans map[string]*otlp.Span, name string) (count int) {
	for _, span := range spans {
		if span.GetName() == name {
			count++
		}
	}
	return count
}
