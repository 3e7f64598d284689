package executor

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/execution"
)

// span begins the span of the node at hand, which belongs to the trace of its execution whichever process runs it, and
// gives the context that model requests and tool calls get. end is to be called with what the node came to.
func (h *holder) span(ctx context.Context) (traced context.Context, end func(a *advance, err error)) {
	tracer := h.durable.cfg.Tracer
	if tracer == nil {
		return ctx, func(*advance, error) {}
	}
	row := &h.claimed.Execution
	ctx = trace.ContextWithRemoteSpanContext(ctx, h.trace.span(row.ID))
	ctx, span := tracer.Start(ctx, "node "+h.position.node, trace.WithAttributes(
		attribute.String("pawl.execution.id", string(row.ID)),
		attribute.String("gen_ai.conversation.id", string(row.ConversationID)),
		attribute.String("pawl.node", h.position.node),
		attribute.Int64("pawl.step", int64(h.position.step)),
		attribute.String("pawl.fence", string(h.claimed.Fence)),
		attribute.Int("pawl.reclaims", row.Reclaims),
		attribute.Int("pawl.attempts", h.position.attempts),
		attribute.String("pawl.worker.id", string(h.durable.worker)),
	))
	return ctx, func(a *advance, err error) {
		switch {
		case err != nil:
			span.SetStatus(codes.Error, "interrupted") // errors may name what is nobody's business
		case a.back != nil && a.back.retry != nil:
			span.SetStatus(codes.Error, a.back.retry.Code)
		case a.back == nil:
			span.SetAttributes(attribute.String("pawl.next", string(a.node)))
		}
		span.End()
	}
}

// spanOfAll makes the span of an execution that has ended: from its start, whichever worker that was on.
func (h *holder) spanOfAll(ctx context.Context, agent string, state execution.State) {
	tracer := h.durable.cfg.Tracer
	if tracer == nil {
		return
	}
	row := &h.claimed.Execution
	ctx = trace.ContextWithRemoteSpanContext(ctx, h.trace.span(row.ID))
	_, span := tracer.Start(ctx, "invoke_agent "+agent, trace.WithTimestamp(time.UnixMilli(row.StartedAtMs)), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "invoke_agent"),
		attribute.String("gen_ai.agent.name", agent),
		attribute.String("gen_ai.conversation.id", string(row.ConversationID)),
		attribute.String("pawl.execution.id", string(row.ID)),
		attribute.String("pawl.state", string(state)),
	))
	if state == execution.Failed {
		span.SetStatus(codes.Error, string(state))
	}
	span.End(trace.WithTimestamp(time.UnixMilli(h.NowMs())))
}
