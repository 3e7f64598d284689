package executor

import (
	"context"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/pawl-run/pawl/execution"
)

// frameInterval bounds the frames of one execution to 20 per second.
const frameInterval = 50 * time.Millisecond

// maxPendingFrames bounds what waits to be sent; what comes on top is lost.
const maxPendingFrames = 64

// maxFrameText bounds the text of one frame, in bytes; a longer one goes on in the next frame.
const maxFrameText = 16 << 10

// An answer so far, for those who listen late, has at most so many bytes, and is sent at most once in so long.
const (
	maxWhole      = 256 << 10
	wholeInterval = time.Second
)

// publisher sends a frame.
type publisher interface {
	PublishFrame(ctx context.Context, id execution.ID, frame execution.Frame) (listeners int, err error)
}

// frames is the Sink of a node: it joins texts that belong together, sends at most one frame per interval, and drops what
// cannot be sent. Nothing is sent, and no goroutine runs, until the first frame comes.
type frames struct {
	send     func(execution.Frame) (listeners int, err error) // immutable; an error: the frame was lost
	step     execution.Step                                   // immutable: of every frame
	done     chan struct{}                                    // set with started; closed by close
	finished chan struct{}                                    // set with started; closed by the goroutine

	// Owned by the goroutine.
	listeners int       // to the last frame
	behind    bool      // somebody listens who does not have the answer so far
	whole     time.Time // when that was sent last

	mu      sync.Mutex
	pending []execution.Frame // guarded by mu
	answer  *answer           // the newest one; guarded by mu
	started bool              // guarded by mu
	closed  bool              // guarded by mu
}

func newFrames(ctx context.Context, id execution.ID, step execution.Step, p publisher) *frames {
	send := func(frame execution.Frame) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, frameTimeout)
		defer cancel()
		return p.PublishFrame(ctx, id, frame)
	}
	return &frames{send: send, step: step}
}

// Frame implements local.Sink.
func (f *frames) Frame(frame execution.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(frame)
}

// answer is the sink of one model request: what it takes says which answer it is of, and where in it the text stands. A text
// that is lost leaves a gap that whoever follows can see.
type answer struct {
	frames     *frames
	invocation string
	length     int    // in characters, of the text so far; guarded by the frames' mu
	text       []byte // the text so far; nil when it is too long to be sent again; guarded by the frames' mu
}

// Frame implements local.Sink.
func (a *answer) Frame(frame execution.Frame) {
	a.frames.mu.Lock()
	defer a.frames.mu.Unlock()
	if frame.Type == execution.FrameTextDelta {
		frame.InvocationID, frame.Offset = a.invocation, a.length
		a.keep(frame.Text)
	}
	a.frames.add(frame)
}

// keep wants the lock held.
func (a *answer) keep(text string) {
	if kept := len(a.text) + len(text); a.length > 0 && a.text == nil || kept > maxWhole {
		a.text = nil
	} else {
		a.text = append(a.text, text...)
	}
	a.length += utf8.RuneCountInString(text)
	a.frames.answer = a
}

// add wants the lock held.
func (f *frames) add(frame execution.Frame) {
	if f.closed {
		return
	}
	frame.Step = f.step
	if frame.Type == execution.FrameAgentEvent && len(f.pending) < maxPendingFrames { // it has no text
		f.pending = append(f.pending, frame)
	}
	frame = behind(frame, f.join(frame))
	for frame.Text != "" {
		if len(f.pending) >= maxPendingFrames {
			return
		}
		n := prefix(frame.Text, maxFrameText)
		first := frame
		first.Text = frame.Text[:n]
		f.pending = append(f.pending, first)
		frame = behind(frame, n)
	}
	if !f.started {
		f.started = true
		f.done, f.finished = make(chan struct{}), make(chan struct{})
		go f.run()
	}
}

// join puts the beginning of a frame's text into the last pending frame that it goes on from, as much as fits, and gives its
// length in bytes.
func (f *frames) join(frame execution.Frame) int {
	for i := len(f.pending) - 1; i >= 0; i-- {
		p := &f.pending[i]
		if p.Type != frame.Type || p.CallID != frame.CallID {
			continue
		}
		if p.InvocationID != frame.InvocationID || p.InvocationID != "" && behind(*p, len(p.Text)).Offset != frame.Offset {
			return 0
		}
		n := prefix(frame.Text, maxFrameText-len(p.Text))
		p.Text += frame.Text[:n]
		return n
	}
	return 0
}

// behind is what is left of a frame without the first n bytes of its text.
func behind(frame execution.Frame, n int) execution.Frame {
	if frame.InvocationID != "" {
		frame.Offset += utf8.RuneCountInString(frame.Text[:n])
	}
	frame.Text = frame.Text[n:]
	return frame
}

// prefix is how much of a text fits into room bytes without a character cut in two.
func prefix(text string, room int) int {
	if len(text) <= room {
		return len(text)
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return max(0, room)
}

// run sends the first frame at once and then one per interval, and at the end what is left.
func (f *frames) run() {
	defer close(f.finished)
	defer f.flush()
	ticker := time.NewTicker(frameInterval)
	defer ticker.Stop()
	for {
		if frame, ok := f.next(); ok && !f.sent(frame) {
			f.drop()
		}
		select {
		case <-f.done: // also when the ticker is ready as well
			return
		default:
		}
		select {
		case <-ticker.C:
		case <-f.done:
			return
		}
	}
}

// flush sends what is left but for tool_progress: the progress of a call that is over is no news. The step waits for that, so
// what a slow store has not taken by then is lost.
func (f *frames) flush() {
	until := time.Now().Add(frameTimeout)
	for frame, ok := f.next(); ok && time.Now().Before(until); frame, ok = f.next() {
		if frame.Type != execution.FrameToolProgress && !f.sent(frame) {
			return
		}
	}
}

// sent reports whether a frame was sent. Whoever hears it first, and whoever did not hear one that was lost, lacks what came
// before.
func (f *frames) sent(frame execution.Frame) bool {
	listeners, err := f.send(frame)
	if err != nil {
		f.behind = true
		return false
	}
	switch {
	case frame.InvocationID != "" && frame.Offset == 0: // nothing came before, or all of it is here
		f.behind = false
	case listeners > f.listeners:
		f.behind = true
	}
	f.listeners = listeners
	return true
}

// next is what to send: the oldest pending frame, or the answer so far when somebody lacks it, which all pending pieces of it are
// part of.
func (f *frames) next() (execution.Frame, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.behind && f.answer != nil && f.answer.text != nil && time.Since(f.whole) >= wholeInterval {
		f.whole = time.Now()
		f.pending = slices.DeleteFunc(f.pending, func(p execution.Frame) bool { return p.InvocationID != "" })
		return execution.Frame{
			Type: execution.FrameTextDelta, Step: f.step, InvocationID: f.answer.invocation, Text: string(f.answer.text),
		}, true
	}
	if len(f.pending) == 0 {
		return execution.Frame{}, false
	}
	frame := f.pending[0]
	f.pending = f.pending[1:]
	return frame, true
}

func (f *frames) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = nil
}

// close sends what is left and ends the goroutine, so that no frame follows the commit of its step.
func (f *frames) close() {
	f.mu.Lock()
	started := f.started
	if !f.closed {
		f.closed = true
		if started {
			close(f.done)
		}
	}
	f.mu.Unlock()
	if started {
		<-f.finished
	}
}
