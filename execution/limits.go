package execution

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Limits bound an execution; a zero field is no limit. They are checked before a request is sent and settled after it.
type Limits struct {
	MaxTurns         int64
	MaxModelRequests int64
	MaxToolCalls     int64
	MaxInputTokens   int64
	MaxOutputTokens  int64
	MaxTotalTokens   int64
	MaxCost          int64 // in millionths of the currency of the agent's prices
	// Deadline counts from the start of the execution, waits included. JSON holds it in milliseconds, rounded up.
	Deadline time.Duration
	// SuspendOnExceeded suspends the execution with reason limit in place of failing it.
	SuspendOnExceeded bool
}

// DefaultMaxTurns applies when Limits.MaxTurns is zero.
const DefaultMaxTurns = 10_000

// limitsJSON is the form of Limits in JSON, where times are integer milliseconds.
type limitsJSON struct {
	MaxTurns          int64 `json:"maxTurns,omitempty"`
	MaxModelRequests  int64 `json:"maxModelRequests,omitempty"`
	MaxToolCalls      int64 `json:"maxToolCalls,omitempty"`
	MaxInputTokens    int64 `json:"maxInputTokens,omitempty"`
	MaxOutputTokens   int64 `json:"maxOutputTokens,omitempty"`
	MaxTotalTokens    int64 `json:"maxTotalTokens,omitempty"`
	MaxCost           int64 `json:"maxCost,omitempty"`
	DeadlineMs        int64 `json:"deadlineMs,omitempty"`
	SuspendOnExceeded bool  `json:"suspendOnExceeded,omitempty"`
}

// JSONShape is a value of the type whose fields are those of Limits in JSON, for whoever checks JSON by its type.
func (Limits) JSONShape() any { return limitsJSON{} }

// Over returns the limits with those of base in place of its own zero fields.
func (l Limits) Over(base Limits) Limits {
	pick := func(own, other int64) int64 {
		if own != 0 {
			return own
		}
		return other
	}
	return Limits{
		MaxTurns:          pick(l.MaxTurns, base.MaxTurns),
		MaxModelRequests:  pick(l.MaxModelRequests, base.MaxModelRequests),
		MaxToolCalls:      pick(l.MaxToolCalls, base.MaxToolCalls),
		MaxInputTokens:    pick(l.MaxInputTokens, base.MaxInputTokens),
		MaxOutputTokens:   pick(l.MaxOutputTokens, base.MaxOutputTokens),
		MaxTotalTokens:    pick(l.MaxTotalTokens, base.MaxTotalTokens),
		MaxCost:           pick(l.MaxCost, base.MaxCost),
		Deadline:          time.Duration(pick(int64(l.Deadline), int64(base.Deadline))),
		SuspendOnExceeded: l.SuspendOnExceeded || base.SuspendOnExceeded,
	}
}

// MarshalJSON writes the deadline in milliseconds. It is rounded up, so that a short deadline does not become none.
func (l Limits) MarshalJSON() ([]byte, error) {
	ms := l.Deadline / time.Millisecond
	if l.Deadline%time.Millisecond > 0 {
		ms++
	}
	return json.Marshal(limitsJSON{
		MaxTurns: l.MaxTurns, MaxModelRequests: l.MaxModelRequests, MaxToolCalls: l.MaxToolCalls,
		MaxInputTokens: l.MaxInputTokens, MaxOutputTokens: l.MaxOutputTokens, MaxTotalTokens: l.MaxTotalTokens,
		MaxCost:    l.MaxCost,
		DeadlineMs: int64(ms), SuspendOnExceeded: l.SuspendOnExceeded,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote and refuses fields it does not know: a limit is never left out silently.
func (l *Limits) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var read limitsJSON
	if err := decoder.Decode(&read); err != nil {
		return fmt.Errorf("limits: %w", err)
	}
	if read.DeadlineMs > math.MaxInt64/int64(time.Millisecond) || read.DeadlineMs < math.MinInt64/int64(time.Millisecond) {
		return NewAPIError(InvalidRequest, "is out of range").In("limits.deadlineMs")
	}
	*l = Limits{
		MaxTurns: read.MaxTurns, MaxModelRequests: read.MaxModelRequests, MaxToolCalls: read.MaxToolCalls,
		MaxInputTokens: read.MaxInputTokens, MaxOutputTokens: read.MaxOutputTokens, MaxTotalTokens: read.MaxTotalTokens,
		MaxCost:  read.MaxCost,
		Deadline: time.Duration(read.DeadlineMs) * time.Millisecond, SuspendOnExceeded: read.SuspendOnExceeded,
	}
	return nil
}
