package redisjournal

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// eventLetter stands in the log for the type of an event: there are several events in every execution, and each would
// begin with the same words. A letter never changes its meaning; a type without one is stored as it is.
func eventLetter(t execution.EventType) (letter byte, known bool) {
	for _, e := range eventLetters() {
		if e.is == t {
			return e.letter, true
		}
	}
	return 0, false
}

type letteredEvent struct {
	letter byte
	is     execution.EventType
}

func eventLetters() [16]letteredEvent {
	return [...]letteredEvent{
		{'q', execution.TypeExecutionQueued},
		{'s', execution.TypeExecutionStarted},
		{'m', execution.TypeModelStarted},
		{'M', execution.TypeModelCompleted},
		{'t', execution.TypeToolStarted},
		{'T', execution.TypeToolCompleted},
		{'i', execution.TypeInteractionRequired},
		{'I', execution.TypeInteractionReceived},
		{'w', execution.TypeWarning},
		{'p', execution.TypeExecutionSuspended},
		{'r', execution.TypeExecutionResumed},
		{'c', execution.TypeCancelRequested},
		{'a', execution.TypeRetryScheduled},
		{'C', execution.TypeExecutionCompleted},
		{'F', execution.TypeExecutionFailed},
		{'X', execution.TypeExecutionCanceled},
	}
}

// shortEvent is the stored form of a payload: the letter of its type, then its other fields without the braces.
func shortEvent(t execution.EventType, encoded []byte) string {
	letter, known := eventLetter(t)
	fields, typed := bytes.CutPrefix(encoded, []byte(`{"type":"`+string(t)+`"`))
	if !known || !typed {
		return string(encoded)
	}
	return string(letter) + strings.TrimPrefix(strings.TrimSuffix(string(fields), "}"), ",")
}

// longEvent is the inverse of shortEvent. What begins with a brace was stored as it is.
func longEvent(stored string) []byte {
	for _, e := range eventLetters() {
		if stored == "" || e.letter != stored[0] {
			continue
		}
		head, fields := `{"type":"`+string(e.is)+`"`, stored[1:]
		if fields != "" {
			head += ","
		}
		return []byte(head + fields + "}")
	}
	return []byte(stored)
}

// Why an event cannot be read. What is stored is not shown.
var (
	errEventTime = errors.New("its time cannot be read")
	errEventType = errors.New("this release does not know its type")
	errEventBody = errors.New("what it says cannot be read")
)

// decodeEvent reads "<ms> <payload>". Of an event that cannot be read it gives the place, its time if that is legible, and in
// the error the reason.
func decodeEvent(entry string, sequence execution.Sequence) (execution.Event, error) {
	event := execution.Event{Sequence: sequence, Payload: &execution.UnreadableEvent{}}
	at, payload, _ := strings.Cut(entry, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || ms < 0 {
		return event, errEventTime
	}
	event.OccurredAtMs = ms
	decoded, err := execution.DecodePayload(longEvent(payload))
	switch {
	case errors.Is(err, execution.ErrUnknownEvent):
		return event, errEventType
	case err != nil:
		return event, errEventBody
	}
	event.Payload = decoded
	return event, nil
}
