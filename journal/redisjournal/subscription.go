package redisjournal

import (
	"sync"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// maxQueuedFrames bounds the frames that wait for a slow receiver; the oldest go first.
// maxQueuedRequests bounds the requests; a worker also reads the flags of its claims from time to time.
const (
	maxQueuedFrames   = 256
	maxQueuedRequests = 4096
)

// pump carries values from a sender that never blocks to a receiver that may be slow. One goroutine owns the receiver's
// channel, so that it is closed exactly once and never written after.
type pump[T any] struct {
	out  chan T
	wake chan struct{}
	quit chan struct{}
	once sync.Once
	done chan struct{}
	take func() (T, bool)
}

func newPump[T any](take func() (T, bool)) *pump[T] {
	p := &pump[T]{
		out: make(chan T), wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), take: take,
	}
	go p.run()
	return p
}

func (p *pump[T]) run() {
	defer close(p.done)
	defer close(p.out)
	for {
		value, ok := p.take()
		if !ok {
			select {
			case <-p.wake:
				continue
			case <-p.quit:
				return
			}
		}
		select {
		case p.out <- value:
		case <-p.quit:
			return
		}
	}
}

// poke says that take has something to give.
func (p *pump[T]) poke() {
	select {
	case p.wake <- struct{}{}:
	default: // it is awake already
	}
}

func (p *pump[T]) stop() {
	p.once.Do(func() { close(p.quit) })
	<-p.done
}

// subscription follows one execution.
type subscription struct {
	follower *follower
	pump     *pump[journal.Signal]

	mu      sync.Mutex
	changed bool
	frames  []execution.Frame
}

func newSubscription() *subscription {
	sub := &subscription{}
	sub.pump = newPump(sub.next)
	return sub
}

func (s *subscription) deliver(message string) {
	frame := decodeFrame(message)
	s.mu.Lock()
	if frame == nil {
		s.changed = true
	} else {
		if len(s.frames) >= maxQueuedFrames {
			s.frames = s.frames[1:]
		}
		s.frames = append(s.frames, *frame)
	}
	s.mu.Unlock()
	s.pump.poke()
}

// next takes frames before the change: a frame belongs to what the log does not say yet.
func (s *subscription) next() (journal.Signal, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.frames) > 0 {
		frame := s.frames[0]
		s.frames = s.frames[1:]
		return journal.Signal{Frame: &frame}, true
	}
	if s.changed {
		s.changed = false
		return journal.Signal{}, true
	}
	return journal.Signal{}, false
}

// Signals delivers until Close.
func (s *subscription) Signals() <-chan journal.Signal { return s.pump.out }

// Close ends the subscription and closes Signals.
func (s *subscription) Close() error {
	s.follower.leave()
	s.stop()
	return nil
}

func (s *subscription) stop() { s.pump.stop() }

// requestSubscription follows the requests of one worker.
type requestSubscription struct {
	follower *follower
	pump     *pump[execution.ID]

	mu    sync.Mutex
	queue []execution.ID
}

func newRequestSubscription() *requestSubscription {
	sub := &requestSubscription{}
	sub.pump = newPump(sub.next)
	return sub
}

func (s *requestSubscription) deliver(message string) {
	if message == "" {
		return // a new connection: the worker's regular look at its flags covers the gap
	}
	s.mu.Lock()
	if len(s.queue) < maxQueuedRequests {
		s.queue = append(s.queue, execution.ID(message))
	}
	s.mu.Unlock()
	s.pump.poke()
}

func (s *requestSubscription) next() (execution.ID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return "", false
	}
	id := s.queue[0]
	s.queue = s.queue[1:]
	return id, true
}

// Requests delivers until Close.
func (s *requestSubscription) Requests() <-chan execution.ID { return s.pump.out }

// Close ends the subscription and closes Requests.
func (s *requestSubscription) Close() error {
	s.follower.leave()
	s.stop()
	return nil
}

func (s *requestSubscription) stop() { s.pump.stop() }
