package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

// renderer prints an execution's log: one line per event, with the time since its start, the event, and what it was
// about with its duration. On a terminal it shows text as it arrives, between the lines, and the answer once: as it
// arrived, or at the end.
type renderer struct {
	out    io.Writer
	inline bool // show text as it arrives
	json   bool // print events as JSON lines

	startMs   int64 // of the first event seen
	began     map[string]int64
	streamed  client.Text // the text of the turn, as far as it was shown
	inText    bool        // the cursor stands behind streamed text or at a prompt
	firstFail error
}

func newRenderer(out io.Writer, inline, asJSON bool) *renderer {
	return &renderer{out: out, inline: inline && !asJSON, json: asJSON, began: make(map[string]int64)}
}

// frame shows what is transient.
func (r *renderer) frame(frame execution.Frame) {
	if !r.inline || frame.Text == "" {
		return
	}
	switch frame.Type {
	case execution.FrameTextDelta:
		piece, anew := r.streamed.Add(frame)
		if piece == "" {
			return // it was shown
		}
		if anew && r.inText {
			r.print("\n")
			r.inText = false
		}
		if !r.inText {
			r.print("          │ ")
		}
		r.inText = true
		r.print(strings.ReplaceAll(clean(piece), "\n", "\n          │ "))
	case execution.FrameToolProgress:
		r.line(fmt.Sprintf("          · %s %s", frame.CallID, oneLine(frame.Text)))
	case execution.FrameAgentEvent: // has no text
	}
}

// event prints the line of an event.
func (r *renderer) event(event execution.Event) {
	if r.json {
		data, err := json.Marshal(event)
		if err != nil {
			data = fmt.Appendf(nil, `{"sequence":%d,"error":%q}`, event.Sequence, err)
		}
		r.line(string(data))
		return
	}
	text := fmt.Sprintf("%9s  %-20s  %s", r.since(event.OccurredAtMs), event.Payload.EventType(), r.describe(event))
	r.line(strings.TrimRight(text, " "))
}

// since is how long after the first event something occurred; empty when its time cannot be read.
func (r *renderer) since(ms int64) string {
	if ms == 0 {
		return ""
	}
	if r.startMs == 0 {
		r.startMs = ms
	}
	return fmt.Sprintf("%.3fs", (time.Duration(ms-r.startMs) * time.Millisecond).Seconds())
}

// note prints a line that is no event.
func (r *renderer) note(format string, args ...any) {
	if !r.json {
		r.line("           " + fmt.Sprintf(format, args...))
	}
}

// prompt asks. What is printed before somebody has typed a line begins on a line of its own.
func (r *renderer) prompt(text string) {
	if r.inText {
		r.print("\n")
	}
	r.print(text)
	r.inText = true
}

// typed notes that somebody ended the line at the terminal.
func (r *renderer) typed() { r.inText = false }

func (r *renderer) line(text string) {
	if r.inText {
		r.print("\n")
		r.inText = false
	}
	r.print(text + "\n")
}

func (r *renderer) print(text string) {
	if _, err := io.WriteString(r.out, text); err != nil && r.firstFail == nil {
		r.firstFail = err // a pipe that was closed: the watch ends
	}
}

// describe says what the event was about.
func (r *renderer) describe(event execution.Event) string {
	switch p := event.Payload.(type) {
	case *execution.ModelStarted:
		r.streamed = client.Text{}
		r.begin("model", event)
		return fmt.Sprintf("model  turn %d", p.Turn)
	case *execution.ModelCompleted:
		return fmt.Sprintf("model  turn %d  %s%s%s", p.Turn, p.FinishReason, tokens(p), r.took("model", event))
	case *execution.ToolStarted:
		r.begin(string(p.CallID), event)
		return fmt.Sprintf("%s  %s", p.Name, p.CallID)
	case *execution.ToolCompleted:
		failed := ""
		if p.Failed {
			failed = "  failed"
		}
		return fmt.Sprintf("%s  %s%s%s", p.Name, p.CallID, failed, r.took(string(p.CallID), event))
	case *execution.InteractionRequired:
		r.begin(string(p.RequestID), event)
		return fmt.Sprintf("%s  %s", p.Kind, oneLine(p.Prompt))
	case *execution.InteractionReceived:
		return strings.TrimSpace(r.took(string(p.RequestID), event))
	case *execution.ExecutionCompleted:
		if r.inline {
			return "" // the answer has its own place
		}
		return oneLine(p.Answer)
	default:
		return describeState(event)
	}
}

// answer ends what a terminal shows with the answer, unless all of it was the last thing that was shown.
func (r *renderer) answer(text string) {
	if r.inline && text != "" && text != r.streamed.String() {
		r.line("\n" + clean(text))
	}
}

func describeState(event execution.Event) string {
	switch p := event.Payload.(type) {
	case *execution.Warning:
		return fmt.Sprintf("%s  %s", p.Code, oneLine(p.Message))
	case *execution.ExecutionSuspended:
		return strings.TrimSpace(fmt.Sprintf("%s  %s", p.Reason, oneLine(p.Detail)))
	case *execution.RetryScheduled:
		wait := time.Duration(p.AtMs-event.OccurredAtMs) * time.Millisecond
		return strings.TrimSpace(fmt.Sprintf("%s  attempt %d in %v  %s  %s", p.Node, p.Attempt, wait, p.Code, oneLine(p.Message)))
	case *execution.ExecutionFailed:
		return fmt.Sprintf("%s  %s", p.Code, oneLine(p.Message))
	case *execution.UnreadableEvent:
		return "it is damaged, or of another release"
	default:
		return ""
	}
}

func (r *renderer) begin(what string, event execution.Event) { r.began[what] = event.OccurredAtMs }

// took is the time since begin, empty when the beginning was not seen.
func (r *renderer) took(what string, event execution.Event) string {
	began, ok := r.began[what]
	if !ok {
		return ""
	}
	delete(r.began, what)
	return fmt.Sprintf("  %v", time.Duration(event.OccurredAtMs-began)*time.Millisecond)
}

func tokens(p *execution.ModelCompleted) string {
	if p.InputTokens == nil || p.OutputTokens == nil {
		return ""
	}
	return fmt.Sprintf("  %d+%d tokens", *p.InputTokens, *p.OutputTokens)
}

// oneLine keeps a text on its line.
func oneLine(text string) string {
	const longest = 500
	text = strings.Join(strings.Fields(clean(text)), " ")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return text
}

// clean takes control characters out of a text: what a model or a tool says must not steer the terminal, nor be shown in another
// order than it is in, to somebody who decides by it.
func clean(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 {
			return -1
		}
		return c
	}, text)
}
