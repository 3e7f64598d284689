package execution

import "time"

// Limits bound an execution; a zero field is no limit. They are checked before a request is sent and settled after it.
type Limits struct {
	MaxTurns         int64 `json:"maxTurns,omitempty"`
	MaxModelRequests int64 `json:"maxModelRequests,omitempty"`
	MaxToolCalls     int64 `json:"maxToolCalls,omitempty"`
	MaxInputTokens   int64 `json:"maxInputTokens,omitempty"`
	MaxOutputTokens  int64 `json:"maxOutputTokens,omitempty"`
	MaxTotalTokens   int64 `json:"maxTotalTokens,omitempty"`
	// Deadline counts from the start of the execution, waits included.
	Deadline time.Duration `json:"deadline,omitempty"`
	// SuspendOnExceeded suspends the execution with reason limit in place of failing it.
	SuspendOnExceeded bool `json:"suspendOnExceeded,omitempty"`
}

// DefaultMaxTurns applies when Limits.MaxTurns is zero.
const DefaultMaxTurns = 10_000
