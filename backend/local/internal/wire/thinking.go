package wire

import "strings"

const thinkBegin, thinkEnd = "<think>", "</think>"

// Thinking takes the reasoning out of an answer's text that some servers send in front of it, between <think> and
// </think>. The zero value is ready; it is fed the text in pieces.
type Thinking struct {
	state thinkingState
	held  string // what may yet turn out to be a tag
}

type thinkingState int

const (
	undecided thinkingState = iota // nothing but white space or a part of the first tag so far
	thinking
	after // white space between the reasoning and the answer
	answering
)

// Feed takes the next piece and returns what of it and of earlier pieces is the answer's.
func (t *Thinking) Feed(piece string) string {
	t.held += piece
	if t.state == undecided {
		t.decide()
	}
	if t.state == thinking {
		t.think()
	}
	if t.state == after {
		if t.held = strings.TrimLeft(t.held, " \t\r\n"); t.held != "" {
			t.state = answering
		}
	}
	if t.state != answering {
		return ""
	}
	text := t.held
	t.held = ""
	return text
}

// End returns what was held back and is the answer's after all.
func (t *Thinking) End() string {
	if t.state != undecided {
		return ""
	}
	text := t.held
	t.held, t.state = "", answering
	return text
}

func (t *Thinking) decide() {
	begun := strings.TrimLeft(t.held, " \t\r\n")
	switch {
	case strings.HasPrefix(begun, thinkBegin):
		t.state, t.held = thinking, begun[len(thinkBegin):]
	case !strings.HasPrefix(thinkBegin, begun): // an empty begin is a prefix too
		t.state = answering
	}
}

// think drops the reasoning, all but what may be the beginning of the closing tag.
func (t *Thinking) think() {
	if _, rest, ended := strings.Cut(t.held, thinkEnd); ended {
		t.state, t.held = after, rest
		return
	}
	t.held = t.held[max(0, len(t.held)-len(thinkEnd)+1):]
}
