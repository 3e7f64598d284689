package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

func TestWantsTraces(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, c := range map[string]struct {
		env    map[string]string
		wanted bool
		fault  string
	}{
		"nothing said":          {},
		"an endpoint":           {env: map[string]string{endpoint: "http://c:4318"}, wanted: true},
		"an endpoint of traces": {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, wanted: true},
		"the exporter alone":    {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, wanted: true},
		"none":                  {env: map[string]string{endpoint: "http://c", "OTEL_TRACES_EXPORTER": "none"}},
		"disabled":              {env: map[string]string{endpoint: "http://c", "OTEL_SDK_DISABLED": "true"}},
		"another exporter":      {env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, fault: "OTEL_TRACES_EXPORTER"},
		"another protocol":      {env: map[string]string{endpoint: "c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, fault: "http/protobuf"},
		"the protocol we speak": {env: map[string]string{endpoint: "c", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, wanted: true},
	} {
		wanted, err := wantsTraces(func(key string) string { return c.env[key] })
		require.Equal(t, c.wanted, wanted, name)
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault, name)
		} else {
			require.NoError(t, err, name)
		}
	}
}

func TestSpans_FollowTheConventionsAndHoldNoContent(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	tracing, err := newTracing(t.Context(), "worker", "test", sdk.WithSyncer(exporter))
	require.NoError(t, err)
	model := &part{response: local.ModelResponse{
		Text: "secret", FinishReason: "stop", Usage: &execution.Usage{InputTokens: 3, OutputTokens: 4},
	}}
	tool := &part{name: "lookup", err: &local.Error{Kind: local.Permanent, Code: "refused", Message: "secret"}}
	kit, err := New("worker", "test").Calls(given{&local.Kit{Model: model, Tools: []local.Tool{tool}}}).Build(
		t.Context(), &agent.Definition{Name: "clerk", Model: agent.Model{Provider: "openai", Name: "large"}})
	require.NoError(t, err)
	ctx, node := tracing.Tracer().Start(t.Context(), "node before_model_request")
	_, err = kit.Model.Generate(ctx, local.ModelRequest{Instructions: "secret"}, nil)
	require.NoError(t, err)
	_, err = kit.Tools[0].Call(ctx, local.Invocation{Call: execution.ToolCall{CallID: "call_0_0", Arguments: []byte(`"secret"`)}}, nil)
	require.Error(t, err)
	node.End()

	spans := exporter.GetSpans()
	require.Len(t, spans, 3)
	attributes := make(map[string]map[string]string)
	for _, span := range spans {
		attributes[span.Name] = make(map[string]string)
		for _, attribute := range span.Attributes {
			attributes[span.Name][string(attribute.Key)] = attribute.Value.String()
			require.NotContains(t, attribute.Value.String(), "secret")
		}
		require.NotContains(t, span.Status.Description, "secret")
		require.Empty(t, span.Events)
		require.Equal(t, node.SpanContext().TraceID(), span.SpanContext.TraceID())
	}
	require.Equal(t, map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "large",
		"gen_ai.agent.name": "clerk", "gen_ai.response.finish_reasons": `["stop"]`,
		"gen_ai.usage.input_tokens": "3", "gen_ai.usage.output_tokens": "4",
	}, attributes["chat large"])
	require.Equal(t, map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup", "gen_ai.tool.call.id": "call_0_0",
		"gen_ai.agent.name": "clerk", "error.type": "permanent",
	}, attributes["execute_tool lookup"])
}

func TestTraced_LinesNameTheirTrace(t *testing.T) {
	t.Parallel()
	tracing, err := newTracing(t.Context(), "worker", "test", sdk.WithSyncer(tracetest.NewInMemoryExporter()))
	require.NoError(t, err)
	var lines strings.Builder
	logger := slog.New(Traced(slog.NewJSONHandler(&lines, nil))).With("a", 1)
	ctx, span := tracing.Tracer().Start(t.Context(), "x")
	logger.InfoContext(ctx, "within")
	require.Contains(t, lines.String(), span.SpanContext().TraceID().String())
	lines.Reset()
	logger.InfoContext(context.Background(), "without")
	require.NotContains(t, lines.String(), "traceId")
	tracing.Close(t.Context(), logger)
}
