package link

import (
	"bytes"
	"unicode/utf8"

	"github.com/pawl-run/pawl/execution"
)

// maxAnswer bounds the text of an answer in flight that is kept for those who join, in bytes; of a longer one its end is.
const maxAnswer = 256 << 10

// answer is the text of the model's answer in flight, as far as its frames were seen.
type answer struct {
	frame  execution.Frame // whose Offset is where text begins; no InvocationID: there is none
	text   []byte
	length int    // of text, in characters
	over   string // the last invocation that the log says is over
}

// add takes a frame, and gives what is new of it: whoever has sent it may have sent parts of it before, to those who listened
// then. There is no news of an answer that the log says is over. A text that does not go on from what there is begins anew.
func (a *answer) add(frame execution.Frame) (execution.Frame, bool) {
	if frame.Type != execution.FrameTextDelta || frame.InvocationID == "" {
		return frame, true
	}
	if frame.InvocationID == a.over {
		return frame, false
	}
	at := frame.Offset - a.frame.Offset
	if frame.InvocationID != a.frame.InvocationID || at < 0 || at > a.length {
		a.frame, a.text, a.length, at = frame, nil, 0, 0
		a.frame.Text = ""
	}
	from := len(a.text)
	if at < a.length {
		from = bytesOf(a.text, at)
	}
	text, known := []byte(frame.Text), a.text[from:]
	switch {
	case len(known) > 0 && bytes.HasPrefix(known, text):
		return frame, false
	case bytes.HasPrefix(text, known):
		frame.Text, frame.Offset = frame.Text[len(known):], a.frame.Offset+a.length
	default: // the request was repeated
		a.text, a.length = a.text[:from], at
	}
	a.frame.Step = frame.Step
	a.text = append(a.text, frame.Text...)
	a.length += utf8.RuneCountInString(frame.Text)
	if len(a.text) > maxAnswer {
		a.cut(len(a.text) - maxAnswer/2) // by halves, so that not every frame moves the text
	}
	return frame, true
}

// cut drops at least n bytes of the beginning.
func (a *answer) cut(n int) {
	for n < len(a.text) && !utf8.RuneStart(a.text[n]) {
		n++
	}
	dropped := utf8.RuneCount(a.text[:n])
	a.text = append([]byte(nil), a.text[n:]...)
	a.length -= dropped
	a.frame.Offset += dropped
}

// bytesOf is how many bytes the first n characters of a text take.
func bytesOf(text []byte, n int) int {
	at := 0
	for range n {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

// note takes an event: it may end the answer.
func (a *answer) note(payload execution.Payload) {
	switch payload.EventType() {
	case execution.TypeModelCompleted, execution.TypeRetryScheduled, execution.TypeExecutionSuspended,
		execution.TypeExecutionCompleted, execution.TypeExecutionFailed, execution.TypeExecutionCanceled,
		execution.TypeUnreadable: // it may have been any of them
	default:
		return
	}
	if completed, ok := modelCompleted(payload); ok {
		a.over = completed.InvocationID
	}
	a.frame, a.text, a.length = execution.Frame{}, nil, 0
}

// modelCompleted looks through the pointer that a decoded payload is.
func modelCompleted(payload execution.Payload) (execution.ModelCompleted, bool) {
	switch p := payload.(type) {
	case execution.ModelCompleted:
		return p, true
	case *execution.ModelCompleted:
		return *p, true
	default:
		return execution.ModelCompleted{}, false
	}
}

// snapshot is the text so far as one frame; nil when there is none.
func (a *answer) snapshot() *execution.Frame {
	if a.frame.InvocationID == "" || len(a.text) == 0 {
		return nil
	}
	frame := a.frame
	frame.Text = string(a.text)
	return &frame
}
