package execution

import (
	"bytes"
	"encoding/json"
	"fmt"
)

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

// UnmarshalJSON refuses fields that are there and empty, by name: an empty value is a client's unset variable more often
// than not, and left out it would widen what is meant.
func (f *BulkFilter) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("decode filter: %w", err)
	}
	for name, value := range members {
		switch string(bytes.TrimSpace(value)) {
		case `""`, `{}`, `0`:
			return NewAPIError(InvalidRequest, "must not be empty: leave it out").In("filter." + name)
		}
	}
	type plain BulkFilter
	if err := json.Unmarshal(data, (*plain)(f)); err != nil {
		return fmt.Errorf("decode filter: %w", err)
	}
	return nil
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
