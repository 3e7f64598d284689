package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// trace takes the request into the trace that its traceparent header names, and makes a span of it. end is called when it
// is answered.
func (s *Server) trace(c echo.Context) (end func()) {
	r := c.Request()
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	if s.cfg.Tracer == nil || !under(r.URL.Path, "/v1") && !under(r.URL.Path, pathAgents) {
		if ctx != r.Context() { // it belongs to a trace
			c.SetRequest(r.WithContext(ctx))
		}
		return func() {}
	}
	ctx, span := s.cfg.Tracer.Start(ctx, r.Method+" "+c.Path(), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(
			attribute.String("http.request.method", r.Method), attribute.String("http.route", c.Path()),
		))
	c.SetRequest(r.WithContext(ctx))
	return func() {
		status := c.Response().Status
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		span.End()
	}
}
