package backend

import "github.com/pawl-run/pawl/execution"

// Origin says who asked for a run.
type Origin string

// The origins of a run.
const (
	OriginUser     Origin = "user"
	OriginSubagent Origin = "subagent"
	OriginInternal Origin = "internal"
)

// RunIdentity says which run this is and where it comes from. Its JSON form is flat.
type RunIdentity struct {
	ConversationID       execution.ConversationID `json:"conversationId"`
	ParentConversationID execution.ConversationID `json:"parentConversationId,omitempty"`
	// RunID is the execution's id; of a delegate that runs inside a call it is the delegate's own.
	RunID        execution.ID     `json:"runId"`
	ParentRunID  execution.ID     `json:"parentRunId,omitempty"`
	AgentID      string           `json:"agentId"`
	ParentCallID execution.CallID `json:"parentCallId,omitempty"`
	RunTrace
	Origin  Origin `json:"origin,omitempty"`
	RunMode string `json:"runMode,omitempty"`
	Adapter string `json:"adapter,omitempty"`
}

// RunTrace says by which ways a run was reached. All of it may be empty.
type RunTrace struct {
	TaskID             string `json:"taskId,omitempty"`
	SessionID          string `json:"sessionId,omitempty"`
	TransportRequestID string `json:"transportRequestId,omitempty"`
}

// ParentContext is the lineage of a delegate; any of it may be empty. Nothing but lineage follows from it.
type ParentContext struct {
	ParentRunID          execution.ID             `json:"parentRunId,omitempty"`
	ParentConversationID execution.ConversationID `json:"parentConversationId,omitempty"`
	ParentCallID         execution.CallID         `json:"parentCallId,omitempty"`
}
