package executor

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Decision is what a hook decides at a boundary: go on (the zero value), or suspend after the checkpoint is persisted.
type Decision struct {
	suspend bool
	reason  string
}

// ErrUnknownDecision reports a decision of a kind this release does not know.
var ErrUnknownDecision = errors.New("unknown decision")

// Continue goes on.
func Continue() Decision { return Decision{} }

// Suspend stops after the boundary; resuming starts behind it. The reason is for people.
func Suspend(reason string) Decision { return Decision{suspend: true, reason: reason} }

// Suspends reports whether the decision is to suspend, and why.
func (d Decision) Suspends() (reason string, suspends bool) { return d.reason, d.suspend }

// decisionJSON is the wire form, tagged by kind.
type decisionJSON struct {
	Kind   string  `json:"kind"`
	Reason *string `json:"reason,omitempty"`
}

// MarshalJSON writes {"kind":"continue"} or {"kind":"suspend","reason":…}.
func (d Decision) MarshalJSON() ([]byte, error) {
	if !d.suspend {
		return json.Marshal(decisionJSON{Kind: "continue"})
	}
	return json.Marshal(decisionJSON{Kind: "suspend", Reason: &d.reason})
}

// UnmarshalJSON reads what MarshalJSON writes and refuses other kinds.
func (d *Decision) UnmarshalJSON(data []byte) error {
	var wire decisionJSON
	if err := json.Unmarshal(data, &wire); err != nil {
		return fmt.Errorf("decode decision: %w", err)
	}
	switch {
	case wire.Kind == "continue":
		*d = Continue()
	case wire.Kind == "suspend" && wire.Reason != nil:
		*d = Suspend(*wire.Reason)
	default:
		return fmt.Errorf("%w %q", ErrUnknownDecision, wire.Kind)
	}
	return nil
}
