package executor

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// storedCheckpoint is a checkpoint without what follows from the rest of it: there is one for each step of each
// execution. The evidence follows from node and state, the turn is the state's, counters are zero unless they are there.
type storedCheckpoint struct {
	V      int                 `json:"v"`
	Step   execution.Step      `json:"step"`
	Node   Node                `json:"node"`
	Turn   *int                `json:"turn,omitempty"`   // unless it is the state's
	Stream *execution.Sequence `json:"stream,omitempty"` // the evidence's stream cursor
	Resume *Evidence           `json:"resume,omitempty"` // unless it is the state's
	State  storedState         `json:"state"`
	Meta   Metadata            `json:"metadata,omitempty"`
}

// storedState is a RunState without its zeros.
type storedState struct {
	Status                *RunStatus        `json:"status,omitempty"` // running when it is not there
	Turn                  int               `json:"turn,omitempty"`
	Usage                 storedUsage       `json:"usage,omitzero"`
	Limits                *execution.Limits `json:"limits,omitempty"`
	Instructions          string            `json:"instructions,omitempty"`
	MessageCount          int               `json:"messageCount,omitempty"`
	InvocationID          string            `json:"invocationId,omitempty"`
	OutputRetriesUsed     int               `json:"outputRetriesUsed,omitempty"`
	ModelErrorRetriesUsed int               `json:"modelErrorRetriesUsed,omitempty"`
	ToolRetriesUsed       map[string]int    `json:"toolRetriesUsed,omitempty"`

	Response *Response          `json:"response,omitempty"`
	Batch    *Batch             `json:"batch,omitempty"`
	Output   *execution.Outcome `json:"output,omitempty"`
	Failure  *execution.Failure `json:"failure,omitempty"`
	Metadata Metadata           `json:"metadata,omitempty"`
}

// storedUsage is execution.Usage without its zeros.
type storedUsage struct {
	Requests         int64 `json:"requests,omitempty"`
	InputTokens      int64 `json:"inputTokens,omitempty"`
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
	OutputTokens     int64 `json:"outputTokens,omitempty"`
	TotalTokens      int64 `json:"totalTokens,omitempty"`
	ToolCalls        int64 `json:"toolCalls,omitempty"`
	CostMicros       int64 `json:"costMicros,omitempty"`
	Partial          bool  `json:"partial,omitempty"`
}

func storeState(s RunState) storedState {
	out := storedState{
		Turn: s.Turn, Usage: storedUsage(s.Usage), Instructions: s.Instructions, MessageCount: s.MessageCount,
		InvocationID: s.InvocationID, OutputRetriesUsed: s.OutputRetriesUsed,
		ModelErrorRetriesUsed: s.ModelErrorRetriesUsed, ToolRetriesUsed: s.ToolRetriesUsed, Response: s.Response,
		Batch: s.Batch, Output: s.Output, Failure: s.Failure, Metadata: s.Metadata,
	}
	if s.Status != StatusRunning {
		out.Status = &s.Status
	}
	if s.Limits != (execution.Limits{}) {
		out.Limits = &s.Limits
	}
	return out
}

func (s *storedState) state() RunState {
	out := RunState{
		Status: StatusRunning, Turn: s.Turn, Usage: execution.Usage(s.Usage), Instructions: s.Instructions,
		MessageCount: s.MessageCount, InvocationID: s.InvocationID, OutputRetriesUsed: s.OutputRetriesUsed,
		ModelErrorRetriesUsed: s.ModelErrorRetriesUsed, ToolRetriesUsed: s.ToolRetriesUsed, Response: s.Response,
		Batch: s.Batch, Output: s.Output, Failure: s.Failure, Metadata: s.Metadata,
	}
	if s.Status != nil {
		out.Status = *s.Status
	}
	if s.Limits != nil {
		out.Limits = *s.Limits
	}
	return out
}

// Encode gives the stored form.
func (c Checkpoint) Encode() ([]byte, error) {
	stored := storedCheckpoint{
		V: c.V, Step: c.Step, Node: c.Node, Stream: c.Resume.Cursor.StreamCursor, State: storeState(c.State), Meta: c.Metadata,
	}
	if c.Turn != c.State.Turn {
		stored.Turn = &c.Turn
	}
	if !c.Resume.follows(NewEvidence(c.Node, c.State)) {
		stored.Resume = &c.Resume
	}
	data, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint %d: %w", c.Step, err)
	}
	return data, nil
}

// follows reports whether the evidence says, but for the stream cursor, no more than the other one.
func (e Evidence) follows(other Evidence) bool {
	mine, its := e.Cursor, other.Cursor
	mine.StreamCursor, its.StreamCursor = nil, nil
	return e.Node == other.Node && e.Status == other.Status && e.Turn == other.Turn && mine == its &&
		e.Usage == other.Usage && e.ContextRevision == other.ContextRevision && e.EnvironmentRef == other.EnvironmentRef &&
		e.PendingApprovalCount == other.PendingApprovalCount && e.DeferredToolCount == other.DeferredToolCount &&
		e.TraceContext.IsZero() && e.Metadata == nil
}

// DecodeCheckpoint reads the stored form. It returns ErrCheckpoint for another v, an unknown node, or a checkpoint that
// contradicts itself. Limits that were not stored are the definition's.
func DecodeCheckpoint(data []byte) (Checkpoint, error) {
	var stored storedCheckpoint
	if err := json.Unmarshal(data, &stored); err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	if stored.V != checkpointVersion {
		return Checkpoint{}, fmt.Errorf("%w: version %d", ErrCheckpoint, stored.V)
	}
	state := stored.State.state()
	c := Checkpoint{V: stored.V, Step: stored.Step, Node: stored.Node, Turn: state.Turn, State: state, Metadata: stored.Meta}
	if stored.Turn != nil {
		c.Turn = *stored.Turn
	}
	if stored.Resume != nil {
		c.Resume = *stored.Resume
	} else {
		c.Resume = NewEvidence(c.Node, state)
	}
	c.Resume.Cursor.StreamCursor = stored.Stream
	if c.Node != c.Resume.Node || c.Turn != c.Resume.Turn || !c.Node.Valid() {
		return Checkpoint{}, fmt.Errorf("%w: boundary %s at turn %d, evidence of %s at turn %d", ErrCheckpoint,
			c.Node, c.Turn, c.Resume.Node, c.Resume.Turn)
	}
	return c, nil
}
