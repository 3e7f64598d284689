package executor

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// remoteSink makes frames of the events of a remote run: text of the answer as that of a model, all else as agent_event.
type remoteSink struct{ sink local.Sink }

// Emit implements backend.EventSink.
func (s remoteSink) Emit(_ context.Context, event backend.Event) {
	if delta, ok := event.(backend.TextDelta); ok {
		s.sink.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: delta.Delta})
		return
	}
	if frame, ok := agentFrame(event); ok {
		s.sink.Frame(frame)
	}
}

// agentFrame is the frame of an event. Of one that is too long only the type is said; one that is no JSON is dropped.
func agentFrame(event backend.Event) (execution.Frame, bool) {
	data, err := backend.EncodeEvent(event)
	if err != nil {
		return execution.Frame{}, false
	}
	if len(data) > maxFrameText {
		data, err = json.Marshal(map[string]backend.EventType{"type": event.EventType()})
		if err != nil {
			return execution.Frame{}, false
		}
	}
	return execution.Frame{Type: execution.FrameAgentEvent, Event: data}, true
}
