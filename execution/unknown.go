package execution

import (
	"encoding/json"
	"errors"
	"fmt"
)

// UnknownEvent is the payload of an event of a type that this release does not know: a later server wrote it. Fields is
// the JSON object of its own fields. Only ReadEvent makes one; nothing writes it into a log.
type UnknownEvent struct {
	Type   EventType
	Fields json.RawMessage
}

// EventType names the type of the payload.
func (u UnknownEvent) EventType() EventType { return u.Type }

// MarshalJSON writes the fields as they came.
func (u UnknownEvent) MarshalJSON() ([]byte, error) { return u.Fields, nil }

// ReadEvent reads the flat form of an event of any type, those of later releases included.
func ReadEvent(data []byte) (Event, error) {
	var event Event
	err := json.Unmarshal(data, &event)
	if !errors.Is(err, ErrUnknownEvent) {
		return event, err
	}
	var head struct {
		Sequence     Sequence  `json:"sequence"`
		OccurredAtMs int64     `json:"occurredAtMs"`
		Type         EventType `json:"type"`
	}
	fields := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(data, &head), json.Unmarshal(data, &fields)); err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	for _, name := range []string{"sequence", "occurredAtMs", "type"} {
		delete(fields, name)
	}
	own, err := json.Marshal(fields)
	if err != nil {
		return Event{}, fmt.Errorf("decode event %s: %w", head.Type, err)
	}
	return Event{
		Sequence: head.Sequence, OccurredAtMs: head.OccurredAtMs, Payload: &UnknownEvent{Type: head.Type, Fields: own},
	}, nil
}
