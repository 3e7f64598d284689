package telemetry

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func TestRemotes_MeasureRequestsByMethod(t *testing.T) {
	t.Parallel()
	m := New("worker", "test")
	require.Same(t, m.Remotes(), m.Remotes(), "programs of one process measure together")
	for _, one := range [][2]string{
		{"card", "remote_unreachable"},
		{"message/send", "ok"},
		{"tasks/get", "ok"},
		{"tasks/get", "remote_unavailable"},
		{"tasks/cancel", "ok"},
		{"tasks/resubscribe", "interrupted"},
	} {
		_, over := m.Remotes().Asking(t.Context(), "researcher", one[0])
		over(one[1])
	}
	page := scrape(t, m)
	for _, labels := range []string{
		`agent="researcher",code="remote_unreachable",method="card"`, `agent="researcher",code="ok",method="send"`,
		`agent="researcher",code="ok",method="get"`, `agent="researcher",code="remote_unavailable",method="get"`,
		`agent="researcher",code="ok",method="cancel"`, `agent="researcher",code="interrupted",method="stream"`,
	} {
		require.Contains(t, page, "pawl_remote_request_seconds_count{"+labels+"} 1\n")
	}
}

func TestRemotes_RequestsAreSpansOfClients(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	tracing, err := newTracing(t.Context(), "worker", "test", sdk.WithSyncer(exporter))
	require.NoError(t, err)
	ctx, node := tracing.Tracer().Start(t.Context(), "node before_model_request")
	remotes := New("worker", "test").Remotes()
	for _, method := range []string{"card", "message/send", "tasks/get"} {
		asked, over := remotes.Asking(ctx, "researcher", method)
		require.NotEqual(t, node.SpanContext().SpanID(), trace.SpanContextFromContext(asked).SpanID(), "the remote hangs on the request")
		code := "ok"
		if method == "tasks/get" {
			code = "remote_unavailable"
		}
		over(code)
	}
	spans := map[string]map[string]string{}
	for _, span := range exporter.GetSpans() {
		require.Equal(t, trace.SpanKindClient, span.SpanKind)
		require.Equal(t, node.SpanContext().SpanID(), span.Parent.SpanID())
		spans[span.Name] = map[string]string{}
		for _, attribute := range span.Attributes {
			spans[span.Name][string(attribute.Key)] = attribute.Value.String()
		}
	}
	require.Equal(t, map[string]map[string]string{
		"card researcher": {"gen_ai.agent.name": "researcher", "gen_ai.provider.name": "a2a"},
		"invoke_agent researcher": {
			"gen_ai.agent.name": "researcher", "gen_ai.provider.name": "a2a", "gen_ai.operation.name": "invoke_agent",
			"rpc.system.name": "jsonrpc", "jsonrpc.protocol.version": "2.0", "rpc.method": "message/send",
		},
		"tasks/get researcher": {
			"gen_ai.agent.name": "researcher", "gen_ai.provider.name": "a2a", "error.type": "remote_unavailable",
			"rpc.system.name": "jsonrpc", "jsonrpc.protocol.version": "2.0", "rpc.method": "tasks/get",
		},
	}, spans)
}
