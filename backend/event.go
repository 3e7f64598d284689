package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pawl-run/pawl/execution"
)

// EventType names a kind of agent event.
type EventType string

// The types of event of a root run's lifecycle.
const (
	EventRunStart          EventType = "run_start"
	EventStepStart         EventType = "step_start"
	EventTextDelta         EventType = "text_delta"
	EventInferenceComplete EventType = "inference_complete"
	EventStepEnd           EventType = "step_end"
	EventRunFinish         EventType = "run_finish"
)

// Event is something that happened in a run. Backends may emit types of their own.
type Event interface{ EventType() EventType }

// EventSink takes the events of a run. It may be used by many goroutines. Events are transient: a sink that cannot hand one
// on drops it, and one that is slow returns when ctx ends.
type EventSink interface {
	Emit(ctx context.Context, event Event)
}

// RunStart is the first event of a run.
type RunStart struct {
	ConversationID execution.ConversationID `json:"conversationId"`
	RunID          execution.ID             `json:"runId"`
	ParentRunID    execution.ID             `json:"parentRunId,omitempty"`
	Identity       RunIdentity              `json:"identity"`
}

// StepStart begins the one step of a remote run; MessageID is new.
type StepStart struct {
	MessageID string `json:"messageId"`
}

// TextDelta is text of the answer.
type TextDelta struct {
	Delta string `json:"delta"`
}

// InferenceComplete says that the agent answered. Usage is nil when nobody knows it.
type InferenceComplete struct {
	Model      string           `json:"model"`
	Usage      *execution.Usage `json:"usage,omitempty"`
	DurationMs int64            `json:"durationMs"`
}

// StepEnd ends the step.
type StepEnd struct{}

// RunFinish is the last event of a run. Result is {"response", "status", "output"?, "statusReason"?}.
type RunFinish struct {
	ConversationID execution.ConversationID `json:"conversationId"`
	RunID          execution.ID             `json:"runId"`
	Identity       RunIdentity              `json:"identity"`
	Result         json.RawMessage          `json:"result,omitempty"`
	Termination    TerminationReason        `json:"termination"`
}

// EventType is EventRunStart.
func (RunStart) EventType() EventType { return EventRunStart }

// EventType is EventStepStart.
func (StepStart) EventType() EventType { return EventStepStart }

// EventType is EventTextDelta.
func (TextDelta) EventType() EventType { return EventTextDelta }

// EventType is EventInferenceComplete.
func (InferenceComplete) EventType() EventType { return EventInferenceComplete }

// EventType is EventStepEnd.
func (StepEnd) EventType() EventType { return EventStepEnd }

// EventType is EventRunFinish.
func (RunFinish) EventType() EventType { return EventRunFinish }

// EncodeEvent is the JSON form of an event: an object whose first key is type.
func EncodeEvent(event Event) ([]byte, error) {
	fields, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", event.EventType(), err)
	}
	if len(fields) < 2 || fields[0] != '{' {
		return nil, fmt.Errorf("encode event %s: not an object", event.EventType())
	}
	encoded := []byte(`{"type":` + strconv.Quote(string(event.EventType())))
	if string(fields) != "{}" {
		encoded = append(encoded, ',')
	}
	return append(encoded, fields[1:]...), nil
}
