package execution

// TypeUnreadable stands in the place of an event that is stored and cannot be read.
const TypeUnreadable EventType = "unreadable"

// UnreadableEvent is the payload of an event that is in the log and that this release cannot read: it is damaged, or another
// release wrote it. It has the event's place, so that the log has no gap, and nothing of what is stored; any event may be
// behind it, the terminal one too. Whoever reads a log makes it; nothing writes one into it. Its time is 0 when that cannot be
// read either.
type UnreadableEvent struct{}

// EventType names the type of the payload.
func (UnreadableEvent) EventType() EventType { return TypeUnreadable }
