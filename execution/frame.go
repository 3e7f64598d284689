package execution

import "encoding/json"

// FrameType names a kind of frame.
type FrameType string

// The types of frame.
const (
	FrameTextDelta    FrameType = "text_delta"
	FrameToolProgress FrameType = "tool_progress"
	FrameAgentEvent   FrameType = "agent_event" // of a remote agent's run
)

// Frame is a transient stream message: never in the log, never repeated, and lost when nobody listens.
//
// A text_delta of a model's answer says which answer it belongs to, and how much of it comes before. Whoever has the text up
// to Offset appends Text; whoever has more of that answer drops what is behind Offset first (the request is repeated, or this
// is the answer so far, which a stream begins with); whoever has less has missed something.
type Frame struct {
	Type   FrameType `json:"type"`
	Step   Step      `json:"step"`
	CallID CallID    `json:"callId,omitempty"`
	// InvocationID is that of the answer's model_started event.
	InvocationID string `json:"invocationId,omitempty"`
	// Offset counts the characters (Unicode code points) of the answer before Text; left out when it is 0.
	Offset int    `json:"offset,omitempty"`
	Text   string `json:"text,omitempty"`
	// Event is what an agent_event tells: {"type", …}.
	Event json.RawMessage `json:"event,omitempty"`
}
