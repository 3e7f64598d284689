package execution

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// EventType names a kind of event.
type EventType string

// Payload is what an event says. Each payload struct is one type of event; its JSON form carries no envelope.
type Payload interface{ EventType() EventType }

// Event is one immutable fact in an execution's log. Its JSON form is flat: sequence, occurredAtMs, type and the
// payload's own fields.
type Event struct {
	Sequence     Sequence
	OccurredAtMs int64
	Payload      Payload
}

// ErrUnknownEvent reports an event of a type this release does not know.
var ErrUnknownEvent = errors.New("unknown event type")

// EncodePayload gives the stored form of a payload: a JSON object whose first key is type.
func EncodePayload(p Payload) ([]byte, error) {
	fields, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", p.EventType(), err)
	}
	return splice(`{"type":`+strconv.Quote(string(p.EventType())), fields), nil
}

// DecodePayload is the inverse of EncodePayload. It returns ErrUnknownEvent for a type this release does not know.
func DecodePayload(data []byte) (Payload, error) {
	var head struct {
		Type EventType `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	p := newPayload(head.Type)
	if p == nil {
		return nil, fmt.Errorf("%w %q", ErrUnknownEvent, head.Type)
	}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", head.Type, err)
	}
	return p, nil
}

// MarshalJSON writes the flat form.
func (e Event) MarshalJSON() ([]byte, error) {
	payload, err := EncodePayload(e.Payload)
	if err != nil {
		return nil, err
	}
	return splice(fmt.Sprintf(`{"sequence":%d,"occurredAtMs":%d`, e.Sequence, e.OccurredAtMs), payload), nil
}

// UnmarshalJSON reads the flat form.
func (e *Event) UnmarshalJSON(data []byte) error {
	var head struct {
		Sequence     Sequence `json:"sequence"`
		OccurredAtMs int64    `json:"occurredAtMs"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	p, err := DecodePayload(data)
	if err != nil {
		return err
	}
	*e = Event{Sequence: head.Sequence, OccurredAtMs: head.OccurredAtMs, Payload: p}
	return nil
}

// splice puts head, an object without its closing brace, before the fields of the JSON object body.
func splice(head string, body []byte) []byte {
	out := bytes.NewBufferString(head)
	if len(body) > 2 {
		out.WriteByte(',')
	}
	out.Write(body[1:])
	return out.Bytes()
}
