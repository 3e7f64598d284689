package client

import (
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// Text puts an answer together from the frames of a stream. Frames are lost and come again, after a reconnect and when a
// request is repeated: Text tells what is new. The zero value is ready; it is used by one goroutine.
type Text struct {
	invocation string
	text       []rune
	gap        bool
}

// Add takes a frame; only a text_delta changes anything. piece is what was added to the end of the text. When anew is true
// the text begins anew with the piece, which replaces what came before: another answer has begun, or the same request was
// made again and answered otherwise.
func (t *Text) Add(frame execution.Frame) (piece string, anew bool) {
	if frame.Type != execution.FrameTextDelta || frame.Text == "" {
		return "", false
	}
	if frame.InvocationID == "" { // of an API that does not say where the piece stands
		t.text = append(t.text, []rune(frame.Text)...)
		return frame.Text, false
	}
	if frame.InvocationID != t.invocation {
		anew = len(t.text) > 0
		*t = Text{invocation: frame.InvocationID}
	}
	piece, otherwise := t.place(frame.Offset, []rune(frame.Text))
	return piece, anew || otherwise
}

// place puts a piece where it belongs.
func (t *Text) place(offset int, text []rune) (piece string, anew bool) {
	if offset > len(t.text) {
		t.gap = true
		t.text = append(t.text, []rune(strings.Repeat("\ufffd", offset-len(t.text)))...)
		t.text = append(t.text, text...)
		return "…" + string(text), false
	}
	known := min(len(t.text)-offset, len(text))
	switch {
	case t.gap: // this may fill it
		t.gap = offset > 0 || known < len(t.text)
		copy(t.text[offset:], text[:known])
	case string(t.text[offset:offset+known]) != string(text[:known]):
		t.text = append(t.text[:offset:offset], text...)
		return string(t.text), true
	}
	t.text = append(t.text, text[known:]...)
	return string(text[known:]), false
}

// String is the text so far. Where something was missed it has U+FFFD for each character.
func (t *Text) String() string { return string(t.text) }

// Whole reports whether nothing of the text was missed.
func (t *Text) Whole() bool { return !t.gap }
