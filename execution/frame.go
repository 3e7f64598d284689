package execution

// FrameType names a kind of frame.
type FrameType string

// The types of frame.
const (
	FrameTextDelta    FrameType = "text_delta"
	FrameToolProgress FrameType = "tool_progress"
)

// Frame is a transient stream message: never in the log, never repeated, and lost when nobody listens.
type Frame struct {
	Type   FrameType `json:"type"`
	Step   Step      `json:"step"`
	CallID CallID    `json:"callId,omitempty"`
	Text   string    `json:"text,omitempty"`
}
