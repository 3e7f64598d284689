package executor

import (
	"context"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// frameInterval bounds the frames of one execution to 20 per second.
const frameInterval = 50 * time.Millisecond

// maxPendingFrames bounds what waits to be sent; what comes on top is lost.
const maxPendingFrames = 64

// publisher sends a frame.
type publisher interface {
	PublishFrame(ctx context.Context, id execution.ID, frame execution.Frame) error
}

// frames is the Sink of a node: it joins texts that belong together, sends at most one frame per interval, and drops what
// cannot be sent. Nothing is sent, and no goroutine runs, until the first frame comes.
type frames struct {
	send     func(execution.Frame) bool // immutable; false when the frame was lost
	step     execution.Step             // immutable: of every frame
	done     chan struct{}              // set with started; closed by close
	finished chan struct{}              // set with started; closed by the goroutine

	mu      sync.Mutex
	pending []execution.Frame // guarded by mu
	started bool              // guarded by mu
	closed  bool              // guarded by mu
}

func newFrames(ctx context.Context, id execution.ID, step execution.Step, p publisher) *frames {
	send := func(frame execution.Frame) bool {
		ctx, cancel := context.WithTimeout(ctx, frameTimeout)
		defer cancel()
		return p.PublishFrame(ctx, id, frame) == nil
	}
	return &frames{send: send, step: step}
}

// Frame implements local.Sink.
func (f *frames) Frame(frame execution.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	frame.Step = f.step
	for i := range f.pending {
		if p := &f.pending[i]; p.Type == frame.Type && p.CallID == frame.CallID {
			p.Text += frame.Text
			return
		}
	}
	if len(f.pending) >= maxPendingFrames {
		return
	}
	f.pending = append(f.pending, frame)
	if !f.started {
		f.started = true
		f.done, f.finished = make(chan struct{}), make(chan struct{})
		go f.run()
	}
}

// run sends the first frame at once and then one per interval. At the end it sends what is left.
func (f *frames) run() {
	defer close(f.finished)
	ticker := time.NewTicker(frameInterval)
	defer ticker.Stop()
	for {
		if frame, ok := f.next(); ok && !f.send(frame) {
			f.drop()
		}
		select {
		case <-ticker.C:
		case <-f.done:
			for frame, ok := f.next(); ok && f.send(frame); frame, ok = f.next() {
			}
			return
		}
	}
}

func (f *frames) next() (execution.Frame, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
