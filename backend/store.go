package backend

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/execution"
)

// CheckpointStore keeps root runs and their transcripts. It may be used by many goroutines.
type CheckpointStore interface {
	// LoadRun is the run as it was kept last. It returns ErrRunNotFound when there is none.
	LoadRun(ctx context.Context, run execution.ID) (*RunRecord, error)
	// Checkpoint keeps the transcript and the run in one write: both or neither. Keeping the same again changes nothing.
	Checkpoint(ctx context.Context, conversation execution.ConversationID, messages []Message, run RunRecord) error
}

// RunRecord is a root run as it is kept. Times are seconds since 1970.
type RunRecord struct {
	RunID          execution.ID             `json:"runId"`
	ConversationID execution.ConversationID `json:"conversationId"`
	AgentID        string                   `json:"agentId"`
	ParentRunID    execution.ID             `json:"parentRunId,omitempty"`
	// Request is whatever began the run; it is kept as it is.
	Request     json.RawMessage    `json:"request,omitempty"`
	Input       *RunInput          `json:"input,omitempty"`
	Output      *RunProduct        `json:"output,omitempty"`
	Status      DurableStatus      `json:"status"`
	Termination *TerminationReason `json:"termination,omitempty"`
	// FinalOutput is the answer's text; nil when it is empty.
	FinalOutput  *string         `json:"finalOutput,omitempty"`
	ErrorPayload json.RawMessage `json:"errorPayload,omitempty"` // {"message": …}
	RunTrace
	Waiting      *WaitingState   `json:"waiting,omitempty"` // set while Status is waiting
	Outcome      *RunOutcome     `json:"outcome,omitempty"` // set when Status is done
	CreatedAt    int64           `json:"createdAt"`
	StartedAt    *int64          `json:"startedAt,omitempty"`
	FinishedAt   *int64          `json:"finishedAt,omitempty"`
	UpdatedAt    int64           `json:"updatedAt"`
	Steps        int             `json:"steps"`
	InputTokens  int64           `json:"inputTokens"`
	OutputTokens int64           `json:"outputTokens"`
	State        *PersistedState `json:"state,omitempty"`
}

// RunOutcome is how a run ended.
type RunOutcome struct {
	Termination  TerminationReason `json:"termination"`
	FinalOutput  *string           `json:"finalOutput,omitempty"`
	ErrorPayload json.RawMessage   `json:"errorPayload,omitempty"`
}

// Resumable reports whether the run waits for something that is known.
func (r RunRecord) Resumable() bool { return r.Status == DurableWaiting && r.Waiting != nil }
