package executor

import (
	"context"
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/execution"
)

// TraceContext correlates a checkpoint with a trace.
type TraceContext struct {
	TraceID      string   `json:"traceId,omitempty"`
	SpanID       string   `json:"spanId,omitempty"`
	ParentSpanID string   `json:"parentSpanId,omitempty"`
	TraceState   string   `json:"traceState,omitempty"`
	Metadata     Metadata `json:"metadata,omitempty"`
}

// IsZero reports whether nothing is set.
func (t TraceContext) IsZero() bool {
	return t.TraceID == "" && t.SpanID == "" && t.ParentSpanID == "" && t.TraceState == "" && len(t.Metadata) == 0
}

// unsampled is the key under which the metadata says that nobody wants the trace's spans.
const unsampled = "unsampled"

// Traced puts the trace of ctx into checkpoint 0, so that whoever works on the execution goes on with it. Without one the
// checkpoint stays as it is.
func Traced(ctx context.Context, checkpoint []byte) ([]byte, error) {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return checkpoint, nil
	}
	decoded, err := DecodeCheckpoint(checkpoint)
	if err != nil {
		return nil, err
	}
	decoded.Resume = decoded.Resume.WithTraceContext(traceOf(span))
	return decoded.Encode()
}

// traceOf is the trace as evidence holds it.
func traceOf(span trace.SpanContext) TraceContext {
	t := TraceContext{
		TraceID: span.TraceID().String(), SpanID: span.SpanID().String(), TraceState: span.TraceState().String(),
	}
	if !span.IsSampled() {
		t.Metadata = Metadata{unsampled: true}
	}
	return t
}

// span is the parent of the spans of the execution's nodes. Of an execution that was submitted without a trace it follows
// from the id, so that all workers name the same one.
func (t TraceContext) span(id execution.ID) trace.SpanContext {
	config := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled, Remote: true}
	traceID, err := trace.TraceIDFromHex(t.TraceID)
	spanID, other := trace.SpanIDFromHex(t.SpanID)
	if err != nil || other != nil {
		sum := sha256.Sum256([]byte(id))
		copy(config.TraceID[:], sum[:])
		copy(config.SpanID[:], sum[len(config.TraceID):])
		return trace.NewSpanContext(config)
	}
	config.TraceID, config.SpanID = traceID, spanID
	if skip, _ := t.Metadata[unsampled].(bool); skip {
		config.TraceFlags = 0
	}
	if state, err := trace.ParseTraceState(t.TraceState); err == nil {
		config.TraceState = state
	}
	return trace.NewSpanContext(config)
}

// Metadata is a JSON object of anything.
type Metadata map[string]any

// text is the string under the key, empty when there is none or it is no string.
func (m Metadata) text(key string) string {
	value, _ := m[key].(string) // anything but a string counts as absent
	return value
}

// clone copies the object; nested values are never written to and stay shared.
func (m Metadata) clone() Metadata {
	if m == nil {
		return nil
	}
	out := make(Metadata, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}
