package executor

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// firstCheckpoint is a stored checkpoint of version 1. It is only read.
type firstCheckpoint struct {
	Step   execution.Step      `json:"step"`
	Node   Node                `json:"node"`
	Turn   *int                `json:"turn"`
	Stream *execution.Sequence `json:"stream"`
	Resume *Evidence           `json:"resume"`
	State  firstState          `json:"state"`
	Meta   Metadata            `json:"metadata"`
}

// firstState is a RunState whose status is running, and whose limits are the definition's, when they are not there.
type firstState struct {
	Status                *RunStatus         `json:"status"`
	Turn                  int                `json:"turn"`
	Usage                 execution.Usage    `json:"usage"`
	Limits                execution.Limits   `json:"limits"`
	Instructions          string             `json:"instructions"`
	MessageCount          int                `json:"messageCount"`
	InvocationID          string             `json:"invocationId"`
	OutputRetriesUsed     int                `json:"outputRetriesUsed"`
	ModelErrorRetriesUsed int                `json:"modelErrorRetriesUsed"`
	ToolRetriesUsed       map[string]int     `json:"toolRetriesUsed"`
	Response              *Response          `json:"response"`
	Batch                 *Batch             `json:"batch"`
	Output                *execution.Outcome `json:"output"`
	Failure               *execution.Failure `json:"failure"`
	Metadata              Metadata           `json:"metadata"`
}

func decodeFirst(data []byte) (Checkpoint, error) {
	var first firstCheckpoint
	if err := json.Unmarshal(data, &first); err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	s := first.State
	state := RunState{
		Status: StatusRunning, Turn: s.Turn, Usage: s.Usage, Limits: s.Limits, Instructions: s.Instructions,
		MessageCount: s.MessageCount, InvocationID: s.InvocationID, OutputRetriesUsed: s.OutputRetriesUsed,
		ModelErrorRetriesUsed: s.ModelErrorRetriesUsed, ToolRetriesUsed: s.ToolRetriesUsed, Response: s.Response,
		Batch: s.Batch, Output: s.Output, Failure: s.Failure, Metadata: s.Metadata,
	}
	if s.Status != nil {
		state.Status = *s.Status
	}
	stored := storedCheckpoint{
		Step: first.Step, Node: storedNode(first.Node), Turn: first.Turn, Stream: first.Stream, Resume: first.Resume,
		Meta: first.Meta,
	}
	return stored.checkpoint(state)
}
