package executor

import "github.com/pawl-run/pawl/execution"

// The keys of a state's metadata that reach the evidence.
const (
	contextRevisionKey = "contextRevision"
	environmentRefKey  = "environmentRef"
)

// Evidence is what a service needs to resume and to audit a run, without reading its state.
type Evidence struct {
	Node   Node            `json:"node"`
	Status RunStatus       `json:"status"`
	Turn   int             `json:"turn"`
	Cursor Cursor          `json:"cursor"`
	Usage  execution.Usage `json:"usage"`
	// ContextRevision and EnvironmentRef are the strings that the state's metadata holds under these names.
	ContextRevision      string       `json:"contextRevision,omitempty"`
	EnvironmentRef       string       `json:"environmentRef,omitempty"`
	PendingApprovalCount int          `json:"pendingApprovalCount"`
	DeferredToolCount    int          `json:"deferredToolCount"`
	TraceContext         TraceContext `json:"traceContext,omitzero"`
	Metadata             Metadata     `json:"metadata,omitempty"`
}

// NewEvidence builds the evidence of a boundary from the state at it.
func NewEvidence(node Node, state RunState) Evidence {
	approvals, deferred := state.Batch.asking()
	deferred += len(state.Batch.in(CallDelegated))
	evidence := Evidence{
		Node: node, Status: state.Status, Turn: state.Turn, Usage: state.Usage,
		Cursor: Cursor{
			ModelRequestAttempt:     state.Turn,
			OutputValidationAttempt: state.OutputRetriesUsed,
			MessageCursor:           state.MessageCount,
		},
		ContextRevision:      state.Metadata.text(contextRevisionKey),
		EnvironmentRef:       state.Metadata.text(environmentRefKey),
		PendingApprovalCount: approvals, DeferredToolCount: deferred,
	}
	if state.Batch != nil {
		evidence.Cursor.ToolCallBatchID = state.Batch.ID
	}
	return evidence
}

// WithStreamCursor returns a copy that carries the cursor.
func (e Evidence) WithStreamCursor(sequence execution.Sequence) Evidence {
	e.Cursor.StreamCursor = &sequence
	return e
}

// WithTraceContext returns a copy that carries the trace.
func (e Evidence) WithTraceContext(trace TraceContext) Evidence {
	trace.Metadata = trace.Metadata.clone()
	e.TraceContext = trace
	return e
}

// WithMetadata returns a copy whose metadata is replaced.
func (e Evidence) WithMetadata(metadata Metadata) Evidence {
	e.Metadata = metadata.clone()
	return e
}
