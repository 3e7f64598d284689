package backend

import "encoding/json"

// Control is how a run is steered while it is under way.
type Control struct {
	// Canceled is closed when the run is to end; nil when the backend does not take such a token. The context of the call
	// ends in any case.
	Canceled <-chan struct{}
	// Decisions brings decisions in batches; nil when the backend takes none.
	Decisions <-chan []Decision
}

// NewControl is the part of the steering that a backend of these capabilities takes.
func NewControl(capabilities Capabilities, canceled <-chan struct{}, decisions <-chan []Decision) Control {
	var control Control
	if capabilities.Cancellation.SupportsCooperativeToken() {
		control.Canceled = canceled
	}
	if capabilities.Decisions {
		control.Decisions = decisions
	}
	return control
}

// Decision is what somebody said about one suspended call.
type Decision struct {
	Target string     `json:"target"` // a call id or the id of a suspension
	Resume CallResume `json:"resume"`
}

// ResumeAction says whether a suspended call goes on.
type ResumeAction string

// The actions of a decision.
const (
	ActionResume ResumeAction = "resume"
	ActionCancel ResumeAction = "cancel"
)

// CallResume is how a suspended call goes on.
type CallResume struct {
	DecisionID  string          `json:"decisionId,omitempty"` // makes the decision idempotent; may be empty
	Action      ResumeAction    `json:"action"`
	Result      json.RawMessage `json:"result,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	UpdatedAtMs int64           `json:"updatedAtMs"`
}
