package execution

// BulkAction is what a bulk call does to each execution.
type BulkAction string

// The actions of a bulk call.
const (
	BulkCancel BulkAction = "cancel"
	BulkResume BulkAction = "resume"
)

// BulkFilter says which executions are meant; those of a listing with the same filters. At least one is given.
type BulkFilter struct {
	State          State             `json:"state,omitempty"`
	Agent          string            `json:"agent,omitempty"`
	ConversationID ConversationID    `json:"conversationId,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	UpdatedSinceMs int64             `json:"updatedSinceMs,omitempty"`
}

// BulkRequest is the body of a bulk call. With DryRun it says what it would do and does nothing.
type BulkRequest struct {
	Action BulkAction `json:"action"`
	Filter BulkFilter `json:"filter"`
	DryRun bool       `json:"dryRun,omitempty"`
	Limit  int        `json:"limit,omitempty"`  // of executions that one call steers; 0: 100, at most 1,000
	Cursor string     `json:"cursor,omitempty"` // NextCursor of the call before
}

// BulkResult is what a bulk call did, or would do. With a NextCursor there may be more: the call is repeated with it.
type BulkResult struct {
	Matched    int           `json:"matched"`
	Changed    int           `json:"changed"` // of a dry run: that would change
	Executions []ID          `json:"executions"`
	Failed     []BulkFailure `json:"failed,omitempty"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// BulkFailure is an execution that refused.
type BulkFailure struct {
	ID     ID        `json:"id"`
	Code   ErrorCode `json:"code"`
	Detail string    `json:"detail"`
}
