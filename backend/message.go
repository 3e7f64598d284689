package backend

import "github.com/pawl-run/pawl/execution"

// Message is one entry of a transcript, with what the store must know of it beside its content.
type Message struct {
	execution.Message
	ID string `json:"id,omitempty"`
	// RunID and StepIndex say which run produced the message, and in which of its rounds (from 0).
	RunID     execution.ID `json:"runId,omitempty"`
	StepIndex *int         `json:"stepIndex,omitempty"`
}

// AssistantMessage is an answer of text alone, without an id.
func AssistantMessage(text string) Message {
	return Message{Message: execution.Message{Role: execution.RoleAssistant, Text: text}}
}

// markProducedBy says which run produced the message. What is already said stays.
func (m *Message) markProducedBy(run execution.ID, stepIndex *int) {
	if m.RunID == "" {
		m.RunID = run
	}
	if m.StepIndex == nil && stepIndex != nil {
		index := *stepIndex
		m.StepIndex = &index
	}
}

// MessageRange is a range of a transcript: both ends are included, and the first message is 1.
type MessageRange struct {
	From uint64 `json:"fromSeq"`
	To   uint64 `json:"toSeq"`
}

// NewMessageRange is the range, or nil when it would begin before the first message or after its end.
func NewMessageRange(from, to uint64) *MessageRange {
	if from == 0 || from > to {
		return nil
	}
	return &MessageRange{From: from, To: to}
}

// RunInput is the part of a transcript that a run was given.
type RunInput struct {
	ConversationID      execution.ConversationID `json:"conversationId"`
	Range               *MessageRange            `json:"range,omitempty"`
	TriggerMessageIDs   []string                 `json:"triggerMessageIds,omitempty"`
	SelectedMessageIDs  []string                 `json:"selectedMessageIds,omitempty"`
	ContextPolicy       string                   `json:"contextPolicy,omitempty"`
	CompactedSnapshotID string                   `json:"compactedSnapshotId,omitempty"`
}

// RunProduct is the part of a transcript that a run produced. Messages without an id are in the range alone.
type RunProduct struct {
	ConversationID execution.ConversationID `json:"conversationId"`
	Range          *MessageRange            `json:"range,omitempty"`
	MessageIDs     []string                 `json:"messageIds,omitempty"`
}
