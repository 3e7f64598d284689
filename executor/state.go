package executor

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// RunState is everything of a run that must survive a crash and is neither history, nor ledger, nor row. It holds no id of
// the execution or the conversation, so that another execution may start from a copy.
type RunState struct {
	Status RunStatus `json:"status"`
	// Turn counts the model requests that succeeded.
	Turn int `json:"turn"`
	// Usage counts every request, failed ones included; the row's usage is newer when an attempt of a step failed.
	Usage execution.Usage `json:"usage"`
	// Limits are those in force. The definition's, which never change, are not written into its checkpoints.
	Limits execution.Limits `json:"limits,omitzero"`
	// Instructions replace the definition's when they are not empty.
	Instructions string `json:"instructions,omitempty"`
	// MessageCount is the length of the conversation's history; before the history was read, of the run's own part.
	MessageCount int `json:"messageCount"`
	// InvocationID names the model request that is open or was answered last.
	InvocationID string `json:"invocationId,omitempty"`

	OutputRetriesUsed     int            `json:"outputRetriesUsed,omitempty"`
	ModelErrorRetriesUsed int            `json:"modelErrorRetriesUsed,omitempty"`
	ToolRetriesUsed       map[string]int `json:"toolRetriesUsed,omitempty"` // by tool name
	// ModelFailures counts the failed attempts at the open model request before its newest boundary.
	ModelFailures int `json:"modelFailures,omitempty"`
	// Repeats are the failing calls that were made last, the newest first.
	Repeats []Repeat `json:"repeats,omitempty"`
	// Depth is how many calls of agents the run is below an execution that nobody called.
	Depth int `json:"depth,omitempty"`
	// Prompt is kept when limits bound what a request may cost.
	Prompt *Prompt `json:"prompt,omitempty"`

	// Remote is set while a remote agent is at work, or waits for an answer.
	Remote *RemoteRun `json:"remote,omitempty"`

	// Response is the model's last answer until the loop has made something of it.
	Response *Response `json:"response,omitempty"`
	// Batch is set while the run is inside a tool boundary.
	Batch *Batch `json:"batch,omitempty"`
	// Output and Failure are how the run ended.
	Output   *execution.Outcome `json:"output,omitempty"`
	Failure  *execution.Failure `json:"failure,omitempty"`
	Metadata Metadata           `json:"metadata,omitempty"`
}

// Response is what the loop needs of a model's answer.
type Response struct {
	Text         string               `json:"text,omitempty"`
	ToolCalls    []execution.ToolCall `json:"toolCalls,omitempty"`
	FinishReason string               `json:"finishReason,omitempty"`
	// Output is what a remote agent's answer is besides its text.
	Output json.RawMessage `json:"output,omitempty"`
}

// NewRunState is the state of a run that has not begun: status starting, nothing spent, the definition's limits.
func NewRunState(definition *agent.Definition, request execution.CreateRequest) RunState {
	state := RunState{Status: StatusStarting, Limits: limitsOf(definition)}
	if request.Limits != nil {
		state.Limits = request.Limits.Over(state.Limits)
	}
	for _, key := range []string{contextRevisionKey, environmentRefKey} { // the rest stays on the row: checkpoints are small
		if value, ok := request.Metadata[key]; ok {
			if state.Metadata == nil {
				state.Metadata = Metadata{}
			}
			state.Metadata[key] = value
		}
	}
	return state
}

// limitsOf are the limits that a definition's runs begin with. They are not the zero value.
func limitsOf(definition *agent.Definition) execution.Limits {
	limits := definition.Limits
	if limits.MaxTurns == 0 {
		limits.MaxTurns = execution.DefaultMaxTurns
	}
	return limits
}

// Clone copies the state in full.
func (s RunState) Clone() RunState {
	s.ToolRetriesUsed = maps.Clone(s.ToolRetriesUsed)
	s.Batch = s.Batch.clone()
	s.Remote = s.Remote.clone()
	s.Metadata = s.Metadata.clone()
	s.Repeats = slices.Clone(s.Repeats)
	if s.Prompt != nil {
		prompt := *s.Prompt
		s.Prompt = &prompt
	}
	if s.Response != nil {
		response := *s.Response
		response.ToolCalls = slices.Clone(response.ToolCalls)
		s.Response = &response
	}
	if s.Output != nil {
		output := *s.Output
		s.Output = &output
	}
	if s.Failure != nil {
		failure := *s.Failure
		s.Failure = &failure
	}
	return s
}
