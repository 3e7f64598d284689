package main_test

import (
	"context"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const remoteAgents = `agents:
  inner:
    model: {provider: scripted, turns: [{text: "Booked-secret."}]}
    publish: {}
  outer:
    backend: a2a
    endpoint: {url: "${PEER}/a2a/inner"}
`

// TestTrace_ARemoteAgentGoesOnWithTheTrace has an execution whose agent is one that the same installation publishes: what both
// executions leave is one tree below the caller's span.
func TestTrace_ARemoteAgentGoesOnWithTheTrace(t *testing.T) {
	t.Parallel()
	exported := &spans{seen: make(map[string]*otlp.Span)}
	sink := httptest.NewServer(exported)
	t.Cleanup(sink.Close)
	s := harness.New(t, harness.Config{
		Agents: remoteAgents, Tag: "none",
		Env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": sink.URL, "OTEL_BSP_SCHEDULE_DELAY": "50"},
	})
	api := s.API(map[string]string{"PAWL_A2A": "1"})
	peer := map[string]string{"PEER": api.URL}
	s.Worker(peer)
	s.Reaper(peer)
	const trace, caller = "1af7651916cd43dd8448eb211c80319d", "b7ad6b7169203332"
	ctx, cancel := context.WithTimeout(t.Context(), endTimeout)
	defer cancel()
	answer, err := api.Do(ctx, http.MethodPost, "/v1/executions",
		map[string]string{"Traceparent": "00-" + trace + "-" + caller + "-01"},
		map[string]any{"agent": "outer", "input": map[string]any{"type": "user_message", "text": "Oslo-secret"}})
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.Status, string(answer.Body))
	view, err := answer.View()
	require.NoError(t, err)
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	var found map[string]*otlp.Span
	harness.Eventually(t, endTimeout, "the spans are exported", func() bool {
		found = exported.all(trace)
		return named(found, "invoke_agent outer") == 2 && named(found, "invoke_agent inner") == 1 &&
			len(asked(found)) >= 2 && whole(found, caller) // a message and at least one look
	})
	for _, span := range asked(found) {
		parent := found[hex.EncodeToString(span.GetParentSpanId())]
		require.Equal(t, otlp.Span_SPAN_KIND_CLIENT, parent.GetKind(), "%s below %s", span.GetName(), parent.GetName())
	}
	exported.mu.Lock()
	defer exported.mu.Unlock()
	require.NotContains(t, exported.raw.String(), "secret", "what people and models say is in no span")
}

// asked are the requests that a published agent was sent.
func asked(spans map[string]*otlp.Span) (requests []*otlp.Span) {
	for _, span := range spans {
		if span.GetName() == "POST /a2a/{agent}" || span.GetName() == "POST /a2a/:agent" {
			requests = append(requests, span)
		}
	}
	return requests
}

// whole reports whether every span hangs on another one, or on the caller's.
func whole(spans map[string]*otlp.Span, caller string) bool {
	for _, span := range spans {
		parent := hex.EncodeToString(span.GetParentSpanId())
		if _, there := spans[parent]; !there && parent != caller {
			return false
		}
	}
	return true
}
