package executor

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
