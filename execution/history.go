package execution

import "encoding/json"

// HistoryMessage is a message of an execution's history and where it stands there, from 0.
type HistoryMessage struct {
	Index int `json:"index"`
	Message
}

// MessagePage is a page of an execution's history: what its model sees, oldest first, the messages of earlier executions
// of its conversation included. A tool call without an answer was asked for right before its execution was ended; what its
// model is sent has one. NextFrom is where the following page begins.
type MessagePage struct {
	Messages []HistoryMessage `json:"messages"`
	NextFrom int              `json:"nextFrom"`
	HasMore  bool             `json:"hasMore"`
}

// Checkpoint is what a client sees of the committed record at a boundary. Evidence says what was going on there. Of one that
// this release cannot read there are only the step and the times; its evidence is null.
type Checkpoint struct {
	Step     Step            `json:"step"`
	Node     string          `json:"node"`
	Turn     int             `json:"turn"`
	Usage    Usage           `json:"usage"`
	Evidence json.RawMessage `json:"evidence"`
	// Forkable is true when the execution can be forked from here.
	Forkable bool `json:"forkable"`
	// CommittedAtMs is when it was written, by the store's clock. Boundaries that were written at once share it. 0: what is
	// stored is damaged, and does not say.
	CommittedAtMs int64 `json:"committedAtMs"`
	// ClaimedAtMs is when the worker that wrote it had been given the execution, 0 when none had: the node before took from
	// then, or from the checkpoint before if that is later, up to CommittedAtMs.
	ClaimedAtMs int64 `json:"claimedAtMs,omitempty"`
}

// CheckpointPage is a page of an execution's checkpoints, ascending. NextFrom is the step at which the following page begins.
type CheckpointPage struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
	NextFrom    Step         `json:"nextFrom"`
	HasMore     bool         `json:"hasMore"`
}
