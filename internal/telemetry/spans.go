package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/backend/local"
)

// begin opens a span below the one of ctx, by its tracer; where nothing is traced it does nothing.
func begin(ctx context.Context, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (
	context.Context, trace.Span,
) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, trace.SpanFromContext(context.Background())
	}
	return parent.TracerProvider().Tracer(tracerName).Start(
		ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...),
	)
}

// The attributes are those of OpenTelemetry's semantic conventions for generative AI. Neither prompts nor answers nor arguments
// are among them.

// chat opens the span of a model request.
func (m *measuredModel) chat(ctx context.Context) (context.Context, trace.Span) {
	return begin(ctx, "chat "+m.name, trace.SpanKindClient,
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", m.provider),
		attribute.String("gen_ai.request.model", m.name),
		attribute.String("gen_ai.agent.name", m.agent),
	)
}

// answered ends the span of a model request.
func answered(span trace.Span, response local.ModelResponse, code string, err error) {
	if err != nil {
		failed(span, code)
	} else {
		span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{response.FinishReason}))
	}
	if response.Usage != nil {
		span.SetAttributes(
			attribute.Int64("gen_ai.usage.input_tokens", response.Usage.InputTokens),
			attribute.Int64("gen_ai.usage.output_tokens", response.Usage.OutputTokens),
		)
	}
	span.End()
}

// execute opens the span of a tool call.
func (t *measuredTool) execute(ctx context.Context, name string, call local.Invocation) (context.Context, trace.Span) {
	return begin(ctx, "execute_tool "+name, trace.SpanKindInternal,
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.name", name),
		attribute.String("gen_ai.tool.call.id", string(call.Call.CallID)),
		attribute.String("gen_ai.agent.name", t.agent),
	)
}

// failed marks a span with the code of an error: its text may name what is nobody's business.
func failed(span trace.Span, code string) {
	span.SetAttributes(attribute.String("error.type", code))
	span.SetStatus(codes.Error, code)
}
