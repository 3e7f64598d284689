package backend

// WaitingReason says what a run waits for, in the store's words.
type WaitingReason string

// The reasons for which a run waits.
const (
	WaitingToolPermission  WaitingReason = "tool_permission"
	WaitingUserInput       WaitingReason = "user_input"
	WaitingBackgroundTasks WaitingReason = "background_tasks"
	WaitingExternalEvent   WaitingReason = "external_event"
	WaitingRateLimit       WaitingReason = wordRateLimit
	WaitingManualPause     WaitingReason = wordManualPause
)

// WaitingReasonOf is what a run waits for whose status has this reason. No reason, or one nobody knows, is an external
// event.
func WaitingReasonOf(statusReason *string) WaitingReason {
	if statusReason == nil {
		return WaitingExternalEvent
	}
	switch *statusReason {
	case wordInputRequired, wordUserRequired:
		return WaitingUserInput
	case wordAuthRequired, wordSuspended:
		return WaitingToolPermission
	case AwaitingTasks:
		return WaitingBackgroundTasks
	case wordRateLimit:
		return WaitingRateLimit
	case wordManualPause:
		return WaitingManualPause
	}
	return WaitingExternalEvent
}

// ResumeMode says what a decision about a suspended call does.
type ResumeMode string

// The modes of going on.
const (
	ReplayCall          ResumeMode = "replay_tool_call" // the call is made again
	DecisionAsResult    ResumeMode = "use_decision_as_tool_result"
	PassDecisionToCalls ResumeMode = "pass_decision_to_tool"
)

// WaitingTicket names one thing a run waits for.
type WaitingTicket struct {
	ID   string     `json:"id"`
	Mode ResumeMode `json:"mode,omitempty"`
}

// WaitingState is what a run waits for. The lists are never null.
type WaitingState struct {
	Reason    WaitingReason   `json:"reason"`
	TicketIDs []string        `json:"ticketIds"`
	Tickets   []WaitingTicket `json:"tickets"`
	// SinceTaskID is the task in which the wait began.
	SinceTaskID string  `json:"sinceTaskId,omitempty"`
	Message     *string `json:"message,omitempty"`
}
