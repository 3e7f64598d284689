package execution

import "encoding/json"

// Outcome is what a completed execution answers.
type Outcome struct {
	Answer string          `json:"answer"`
	Output json.RawMessage `json:"output,omitempty"`
}

// Failure says why an execution failed. Code is stable; Message is for people and never carries a secret.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Failure codes that Pawl itself gives.
const (
	CodeUsageLimitExceeded = "usage_limit_exceeded"
	CodeDeadlineExceeded   = "deadline_exceeded"
	CodeSuspensionExpired  = "suspension_expired"
	CodeInteractionExpired = "interaction_expired"
	CodeEventLimitExceeded = "event_limit_exceeded"
	CodeOutputRetryLimit   = "output_retry_limit_exceeded"
	CodeToolRetryLimit     = "tool_retry_limit_exceeded"
	CodeRepeatedCall       = "repeated_call"
	CodeOutcomeUnknown     = "tool_outcome_unknown"
	CodeModelError         = "model_error"
	CodeNoTools            = "no_tools"
	CodeDelegationLost     = "delegation_lost"    // what it was to act with could not be had, and nobody came back for it
	CodeDelegationRefused  = "delegation_refused" // the server did not let it act for its caller
	CodeInternal           = "internal"
)

// Wait says what an execution waits for while no worker is needed.
type Wait struct {
	Kind    WaitKind `json:"kind"`
	UntilMs int64    `json:"untilMs,omitempty"`
}

// Suspension says why an execution is suspended.
type Suspension struct {
	Reason SuspendReason `json:"reason"`
	Detail string        `json:"detail,omitempty"`
}

// View is what a client sees of an execution.
type View struct {
	ID              ID                `json:"id"`
	Agent           string            `json:"agent"`
	ConversationID  ConversationID    `json:"conversationId"`
	ForkedFrom      *Origin           `json:"forkedFrom,omitempty"`
	Parent          *Parent           `json:"parent,omitempty"`
	Delegation      *DelegationView   `json:"delegation,omitempty"`
	Children        []Child           `json:"children,omitempty"` // in a view of its own only, and not in a listing
	State           State             `json:"state"`
	Wait            *Wait             `json:"wait,omitempty"`
	Interaction     *Interaction      `json:"interaction,omitempty"`
	Suspension      *Suspension       `json:"suspension,omitempty"`
	CancelRequested bool              `json:"cancelRequested,omitempty"`
	PauseRequested  bool              `json:"pauseRequested,omitempty"`
	Outcome         *Outcome          `json:"outcome,omitempty"`
	Failure         *Failure          `json:"failure,omitempty"`
	Usage           Usage             `json:"usage"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	Step            Step              `json:"step"`
	Node            string            `json:"node"` // the boundary of the newest checkpoint
	Version         uint64            `json:"version"`
	CreatedAtMs     int64             `json:"createdAtMs"`
	StartedAtMs     int64             `json:"startedAtMs,omitempty"`
	UpdatedAtMs     int64             `json:"updatedAtMs"`
	EndedAtMs       int64             `json:"endedAtMs,omitempty"`
}

// OnBusy says what a submission does when its conversation has an active execution.
type OnBusy string

// The choices of a submission to a busy conversation. BusyReject is the default.
const (
	BusyReject    OnBusy = "reject"
	BusyEnqueue   OnBusy = "enqueue"
	BusyInterrupt OnBusy = "interrupt" // the active execution is canceled, and what it said stays
	BusyRollback  OnBusy = "rollback"  // it is canceled, and the history goes on from before it
)

// Interrupts reports whether the submission takes the place of the active execution.
func (b OnBusy) Interrupts() bool { return b == BusyInterrupt || b == BusyRollback }

// CreateRequest is the body of a submission. Fields that are tagged nonempty are absent or have a value: JSON that gives them
// empty is refused.
type CreateRequest struct {
	Agent          string            `json:"agent"`
	Input          Input             `json:"input"`
	ConversationID ConversationID    `json:"conversationId,omitempty" api:"nonempty"`
	OnBusy         OnBusy            `json:"onBusy,omitempty" api:"nonempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	Priority       Priority          `json:"priority,omitempty" api:"nonempty"`
	StartAtMs      int64             `json:"startAtMs,omitempty"`
	// RetentionMs is how long the execution is kept after its end. 0: as long as its agent says, or the installation.
	RetentionMs int64 `json:"retentionMs,omitempty"`
	// Delegation asks for a lease with which the execution may act for its caller; nil: for none.
	Delegation *DelegationRequest `json:"delegation,omitempty"`
	Overrides
	// Limits replace the agent's, field by field: a zero field leaves the agent's.
	Limits *Limits `json:"limits,omitempty"`
}

// Overrides are what a submission may say in place of the agent's definition. The zero value changes nothing.
type Overrides struct {
	Model         string          `json:"model,omitempty" api:"nonempty"` // the provider's name of another model
	Instructions  string          `json:"instructions,omitempty" api:"nonempty"`
	Generation    *Generation     `json:"generation,omitempty"`
	OutputSchema  json.RawMessage `json:"outputSchema,omitempty"`
	FrontendTools []FrontendTool  `json:"frontendTools,omitempty"`
}

// OverridesNothing reports whether the agent's definition holds as it is.
func (o Overrides) OverridesNothing() bool {
	return o.Model == "" && o.Instructions == "" && o.Generation == nil && len(o.OutputSchema) == 0 && len(o.FrontendTools) == 0
}

// Generation says how a model answers. A nil or zero field leaves the agent's.
type Generation struct {
	MaxOutputTokens int64    `json:"maxOutputTokens,omitempty"`
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"topP,omitempty"`
}

// FrontendTool is a tool that the submitting client carries out: its calls wait for a tool_result.
type FrontendTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema
}

// SubmitInput is the body of an input.
type SubmitInput struct {
	OperationID OperationID `json:"operationId"`
	Input       Input       `json:"input"`
}

// ResumeRequest is the body of a resume. It may be empty.
type ResumeRequest struct {
	// Limits replace those of the execution, field by field: a zero field leaves what is in force.
	Limits *Limits `json:"limits,omitempty"`
	Reason string  `json:"reason,omitempty"` // why, at most MaxReasonLength bytes; for the API's log
}

// MaxReasonLength bounds the reason of a resume, in bytes.
const MaxReasonLength = 512

// EventPage is one page of an execution's log. NextAfter is the cursor of the next page.
type EventPage struct {
	Events    []Event  `json:"events"`
	NextAfter Sequence `json:"nextAfter"`
	HasMore   bool     `json:"hasMore"`
}

// AgentSummary is one entry of the list of agents.
type AgentSummary struct {
	ID           string       `json:"id"`
	Backend      string       `json:"backend"`
	Capabilities Capabilities `json:"capabilities"`
}

// Capabilities are the words in which a backend declares what it can do.
type Capabilities struct {
	Cancellation  string `json:"cancellation"`
	Decisions     bool   `json:"decisions"`
	Overrides     bool   `json:"overrides"`
	FrontendTools bool   `json:"frontendTools"`
	Continuation  string `json:"continuation"`
	Waits         string `json:"waits"`
	Transcript    string `json:"transcript"`
	Output        string `json:"output"`
}
