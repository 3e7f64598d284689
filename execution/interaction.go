package execution

import "encoding/json"

// InteractionKind says what an interaction asks for.
type InteractionKind string

// The kinds of interaction.
const (
	Approval          InteractionKind = "approval"
	Elicitation       InteractionKind = "elicitation"
	ClientToolResult  InteractionKind = "tool_result"
	Authentication    InteractionKind = "auth"
	OutcomeUnknown                    = "outcome_unknown" // Interaction.Reason of an approval about a call whose outcome is unknown
	MaxResponseLength                 = 1 << 20
)

// OnExpiry says what happens when an interaction expires unanswered.
type OnExpiry string

// The choices at an interaction's expiry. Reject is the default.
const (
	ExpireReject  OnExpiry = "reject"
	ExpireFail    OnExpiry = "fail"
	ExpireSuspend OnExpiry = "suspend"
)

// Interaction is one open question of an execution. At most one is open at a time.
type Interaction struct {
	RequestID   RequestID         `json:"requestId"`
	Kind        InteractionKind   `json:"kind"`
	Reason      string            `json:"reason,omitempty"`
	Prompt      string            `json:"prompt"`
	Calls       []InteractionCall `json:"calls,omitempty"`
	ExpiresAtMs int64             `json:"expiresAtMs,omitempty"`
	OnExpiry    OnExpiry          `json:"onExpiry,omitempty"`
	// Schema is the JSON Schema of the answer's content, when an elicitation wants one.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// InteractionCall is a tool call an interaction is about.
type InteractionCall struct {
	CallID    CallID          `json:"callId"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	// ArgumentsHash is the SHA-256 of the arguments, in hex. A decision that repeats it is refused when they differ.
	ArgumentsHash string `json:"argumentsHash,omitempty"`
}

// InputType discriminates Input.
type InputType string

// The types of input.
const (
	UserMessage         InputType = "user_message"         // of a submission
	ElicitationResponse InputType = "elicitation_response" // answers an elicitation
	ToolApproval        InputType = "tool_approval"        // answers an approval
	ToolResultInput     InputType = "tool_result"          // answers a call that the client carries out, or one that was deferred
)

// Input is what a client says: the first message of an execution, or the answer to an interaction.
type Input struct {
	Type InputType `json:"type"`
	Text string    `json:"text,omitempty"`
	// Parts make a user_message that is more than text, in place of Text.
	Parts     []Part     `json:"parts,omitempty"`
	RequestID RequestID  `json:"requestId,omitempty"`
	Decisions []Decision `json:"decisions,omitempty"`
	// Content answers an elicitation that has a schema, in place of Text; Declined refuses to answer.
	Content  json.RawMessage `json:"content,omitempty"`
	Declined bool            `json:"declined,omitempty"`
	// CallID, Result and IsError are a tool_result. Its RequestID may be empty: the call says which interaction is meant.
	CallID  CallID          `json:"callId,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	IsError bool            `json:"isError,omitempty"`
}

// DecisionKind is what a person decided about a call.
type DecisionKind string

// The decisions about a call.
const (
	Approve DecisionKind = "approve" // run it (again)
	Reject  DecisionKind = "reject"  // tell the model that it was refused, or that it failed
	Answer  DecisionKind = "answer"  // take this result
	Edit    DecisionKind = "edit"    // run it with these arguments
)

// Decision is the decision about one call of an approval.
type Decision struct {
	CallID   CallID          `json:"callId"`
	Decision DecisionKind    `json:"decision"`
	Answer   json.RawMessage `json:"answer,omitempty"` // of an answer: any JSON
	Reason   string          `json:"reason,omitempty"` // of a rejection
	// Arguments replace the call's; of an edit. A JSON object.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// ArgumentsHash repeats that of the call which was decided about; not compared when it is empty.
	ArgumentsHash string `json:"argumentsHash,omitempty"`
}
