package execution

// The types of event. A started event belongs to the commit that opens its boundary, a completed one to the commit or
// receipt that closes it.
const (
	TypeExecutionQueued     EventType = "execution_queued"
	TypeExecutionStarted    EventType = "execution_started"
	TypeModelStarted        EventType = "model_started"
	TypeModelCompleted      EventType = "model_completed"
	TypeToolStarted         EventType = "tool_started"
	TypeToolCompleted       EventType = "tool_completed"
	TypeInteractionRequired EventType = "interaction_required"
	TypeInteractionReceived EventType = "interaction_received"
	TypeWarning             EventType = "warning"
	TypeExecutionSuspended  EventType = "execution_suspended"
	TypeExecutionResumed    EventType = "execution_resumed"
	TypeCancelRequested     EventType = "cancel_requested"
	TypeRetryScheduled      EventType = "retry_scheduled"
	TypeExecutionCompleted  EventType = "execution_completed"
	TypeExecutionFailed     EventType = "execution_failed"
	TypeExecutionCanceled   EventType = "execution_canceled"
)

// The codes of the warnings that say why a step begins again.
const (
	WarningReclaimed = "reclaimed" // the claim of its holder ran out
	WarningReleased  = "released"  // an operator took the claim from its holder
)

type (
	// ExecutionQueued is the first event of every execution.
	ExecutionQueued struct{}
	// ExecutionStarted is written by the first claim.
	ExecutionStarted struct{}
	// ModelStarted says that a model request is about to be sent.
	ModelStarted struct {
		Turn         int    `json:"turn"`
		InvocationID string `json:"invocationId"`
	}
	// ModelCompleted says that a model response was applied.
	ModelCompleted struct {
		Turn         int    `json:"turn"`
		InvocationID string `json:"invocationId"`
		FinishReason string `json:"finishReason"`
		Model        string `json:"model,omitempty"` // the provider's name of the model that answered
		InputTokens  *int64 `json:"inputTokens,omitempty"`
		OutputTokens *int64 `json:"outputTokens,omitempty"`
	}
	// ToolStarted says that a tool call was planned.
	ToolStarted struct {
		CallID CallID `json:"callId"`
		Name   string `json:"name"`
	}
	// ToolCompleted says that a tool call has its receipt.
	ToolCompleted struct {
		CallID CallID `json:"callId"`
		Name   string `json:"name"`
		Failed bool   `json:"failed"`
		// Blob names the result when it is stored beside the execution.
		Blob *BlobRef `json:"blob,omitempty"`
	}
	// InteractionRequired opens an interaction.
	InteractionRequired struct {
		RequestID RequestID       `json:"requestId"`
		Kind      InteractionKind `json:"kind"`
		Prompt    string          `json:"prompt"`
	}
	// InteractionReceived answers an interaction.
	InteractionReceived struct {
		RequestID RequestID `json:"requestId"`
	}
	// Warning tells what a person may want to know and nobody has to act on.
	Warning struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// ExecutionSuspended stops the execution until somebody resumes it.
	ExecutionSuspended struct {
		Reason SuspendReason `json:"reason"`
		Detail string        `json:"detail,omitempty"`
	}
	// ExecutionResumed takes the execution back to where it was.
	ExecutionResumed struct{}
	// CancelRequested says that a cancel was recorded while a worker held the execution.
	CancelRequested struct{}
	// RetryScheduled says when a failed node runs again. Attempt counts from 1. Message says what failed, as far as it is known:
	// MaxRetryText bytes of it.
	RetryScheduled struct {
		Node    string `json:"node"`
		Attempt int    `json:"attempt"`
		AtMs    int64  `json:"atMs"`
		Code    string `json:"code"`
		Message string `json:"message,omitempty"`
	}
	// ExecutionCompleted is a last event.
	ExecutionCompleted struct {
		Answer string `json:"answer"`
		// AnswerBytes is the length of the whole answer, which is in the view, when Answer is only its beginning.
		AnswerBytes int `json:"answerBytes,omitempty"`
	}
	// ExecutionFailed is a last event.
	ExecutionFailed struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// ExecutionCanceled is a last event.
	ExecutionCanceled struct{}
)

// EventType names the type of the payload.
func (ExecutionQueued) EventType() EventType     { return TypeExecutionQueued }
func (ExecutionStarted) EventType() EventType    { return TypeExecutionStarted }
func (ModelStarted) EventType() EventType        { return TypeModelStarted }
func (ModelCompleted) EventType() EventType      { return TypeModelCompleted }
func (ToolStarted) EventType() EventType         { return TypeToolStarted }
func (ToolCompleted) EventType() EventType       { return TypeToolCompleted }
func (InteractionRequired) EventType() EventType { return TypeInteractionRequired }
func (InteractionReceived) EventType() EventType { return TypeInteractionReceived }
func (Warning) EventType() EventType             { return TypeWarning }
func (ExecutionSuspended) EventType() EventType  { return TypeExecutionSuspended }
func (ExecutionResumed) EventType() EventType    { return TypeExecutionResumed }
func (CancelRequested) EventType() EventType     { return TypeCancelRequested }
func (RetryScheduled) EventType() EventType      { return TypeRetryScheduled }
func (ExecutionCompleted) EventType() EventType  { return TypeExecutionCompleted }
func (ExecutionFailed) EventType() EventType     { return TypeExecutionFailed }
func (ExecutionCanceled) EventType() EventType   { return TypeExecutionCanceled }

// newPayload returns a pointer to an empty payload of the type, nil for an unknown one.
func newPayload(t EventType) Payload {
	switch t {
	case TypeExecutionQueued:
		return &ExecutionQueued{}
	case TypeExecutionStarted:
		return &ExecutionStarted{}
	case TypeModelStarted:
		return &ModelStarted{}
	case TypeModelCompleted:
		return &ModelCompleted{}
	case TypeToolStarted:
		return &ToolStarted{}
	case TypeToolCompleted:
		return &ToolCompleted{}
	case TypeInteractionRequired:
		return &InteractionRequired{}
	case TypeInteractionReceived:
		return &InteractionReceived{}
	case TypeWarning:
		return &Warning{}
	case TypeExecutionSuspended:
		return &ExecutionSuspended{}
	case TypeExecutionResumed:
		return &ExecutionResumed{}
	case TypeCancelRequested:
		return &CancelRequested{}
	case TypeRetryScheduled:
		return &RetryScheduled{}
	case TypeExecutionCompleted:
		return &ExecutionCompleted{}
	case TypeExecutionFailed:
		return &ExecutionFailed{}
	case TypeExecutionCanceled:
		return &ExecutionCanceled{}
	case TypeUnreadable:
		return &UnreadableEvent{}
	default:
		return nil
	}
}
