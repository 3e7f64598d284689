package redisjournal

import (
	"slices"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// maxQueuedFrames bounds the frames that wait for a slow receiver; the oldest go first.
// maxQueuedSignals and maxQueuedBytes bound what waits for one who follows every execution.
// maxQueuedRequests bounds the requests; a worker also reads the flags of its claims from time to time.
const (
	maxQueuedFrames   = 256
	maxQueuedSignals  = 8192
	maxQueuedBytes    = 16 << 20
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

	mu     sync.Mutex
	queue  []journal.Signal // in order; changes without a frame between them are one
	frames int              // in queue
}

func newSubscription() *subscription {
	sub := &subscription{}
	sub.pump = newPump(sub.next)
	return sub
}

func (s *subscription) deliver(_, message string) {
	signal := decodeSignal(message)
	s.mu.Lock()
	s.add(signal)
	s.mu.Unlock()
	s.pump.poke()
}

// add wants the lock held. Of too many frames the oldest goes, and the changes on its two sides become one.
func (s *subscription) add(signal journal.Signal) {
	if signal.Frame != nil {
		s.frames++
		if s.frames > maxQueuedFrames {
			s.frames--
			i := slices.IndexFunc(s.queue, func(q journal.Signal) bool { return q.Frame != nil })
			s.queue = slices.Delete(s.queue, i, i+1)
			if i > 0 && i < len(s.queue) && s.queue[i].Frame == nil { // before the first frame are changes only
				s.queue[i-1] = merged(s.queue[i-1], s.queue[i])
				s.queue = slices.Delete(s.queue, i, i+1)
			}
		}
	} else if n := len(s.queue); n > 0 && s.queue[n-1].Frame == nil {
		s.queue[n-1] = merged(s.queue[n-1], signal)
		return
	}
	s.queue = append(s.queue, signal)
}

// merged is one change in place of two.
func merged(a, b journal.Signal) journal.Signal {
	out := journal.Signal{First: a.First, Last: max(a.Last, b.Last), Missed: a.Missed || b.Missed}
	if a.First == 0 || b.First != 0 && b.First < a.First {
		out.First = b.First
	}
	return out
}

func (s *subscription) next() (journal.Signal, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return journal.Signal{}, false
	}
	signal := s.queue[0]
	s.queue = s.queue[1:]
	if len(s.queue) == 0 {
		s.queue = nil // what was delivered is not kept
	}
	if signal.Frame != nil {
		s.frames--
	}
	return signal, true
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

// wideSubscription follows every execution.
type wideSubscription struct {
	follower *follower
	pump     *pump[journal.WideSignal]
	keys     keyspace

	mu    sync.Mutex
	queue []wideMessage
	bytes int // of the messages in queue
}

// wideMessage is a message as it came.
type wideMessage struct{ channel, message string }

func newWideSubscription(keys keyspace) *wideSubscription {
	sub := &wideSubscription{keys: keys}
	sub.pump = newPump(sub.next)
	return sub
}

// deliver puts one message in place of all when they are too many: whoever reads it has to look everywhere.
func (s *wideSubscription) deliver(channel, message string) {
	s.mu.Lock()
	if len(s.queue) >= maxQueuedSignals || s.bytes+len(message) > maxQueuedBytes {
		s.queue, s.bytes, message = nil, 0, ""
	}
	s.queue = append(s.queue, wideMessage{channel, message})
	s.bytes += len(message)
	s.mu.Unlock()
	s.pump.poke()
}

func (s *wideSubscription) next() (journal.WideSignal, bool) {
	s.mu.Lock()
	if len(s.queue) == 0 {
		s.mu.Unlock()
		return journal.WideSignal{}, false
	}
	m := s.queue[0]
	s.queue = s.queue[1:]
	s.bytes -= len(m.message)
	s.mu.Unlock()
	signal := journal.WideSignal{Signal: decodeSignal(m.message)}
	if m.message != "" {
		signal.Execution = execution.ID(strings.TrimPrefix(m.channel, s.keys.feeds()))
	}
	return signal, true
}

// Signals delivers until Close.
func (s *wideSubscription) Signals() <-chan journal.WideSignal { return s.pump.out }

// Close ends the subscription and closes Signals.
func (s *wideSubscription) Close() error {
	s.follower.leave()
	s.stop()
	return nil
}

func (s *wideSubscription) stop() { s.pump.stop() }

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

func (s *requestSubscription) deliver(_, message string) {
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
