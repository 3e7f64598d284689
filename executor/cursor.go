package executor

import "github.com/pawl-run/pawl/execution"

// Cursor tells where a run stands in the things it counts.
type Cursor struct {
	// ModelRequestAttempt is the 0-based index of the next turn's request.
	ModelRequestAttempt int `json:"modelRequestAttempt"`
	// ToolCallBatchID names the batch while the run is inside a tool boundary.
	ToolCallBatchID string `json:"toolCallBatchId,omitempty"`
	// OutputValidationAttempt is how many corrections of the output were asked for.
	OutputValidationAttempt int `json:"outputValidationAttempt"`
	// StreamCursor is the last journaled event that the checkpoint's builder knew of; nil when it knew none.
	StreamCursor *execution.Sequence `json:"streamCursor,omitempty"`
	// MessageCursor is the length of the history.
	MessageCursor int `json:"messageCursor"`
}
