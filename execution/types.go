package execution

// EventTypes are the types of event that this release knows, the one of those that it cannot read among them.
func EventTypes() []EventType {
	return []EventType{
		TypeExecutionQueued, TypeExecutionStarted, TypeModelStarted, TypeModelCompleted, TypeToolStarted, TypeToolCompleted,
		TypeInteractionRequired, TypeInteractionReceived, TypeWarning, TypeExecutionSuspended, TypeExecutionResumed,
		TypeCancelRequested, TypeRetryScheduled, TypeExecutionCompleted, TypeExecutionFailed, TypeExecutionCanceled,
		TypeUnreadable,
	}
}

// Terminal reports whether an event of the type is the last one of its log.
func (t EventType) Terminal() bool {
	switch t {
	case TypeExecutionCompleted, TypeExecutionFailed, TypeExecutionCanceled:
		return true
	default:
		return false
	}
}

// FrameTypes are the types of frame.
func FrameTypes() []FrameType { return []FrameType{FrameTextDelta, FrameToolProgress, FrameAgentEvent} }
