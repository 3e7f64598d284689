package queue

import (
	"context"
	"sync"
	"time"
)

// Waker joins the Client and the Servers of one process: what the Client enqueues wakes a waiting Server without Redis.
// Give the same Waker to both. Safe for concurrent use; the zero value is ready.
type Waker struct {
	mu      sync.Mutex
	waiters []*waiter // guarded by mu
}

func (w *Waker) add(x *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiters = append(w.waiters, x)
}

func (w *Waker) remove(x *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, have := range w.waiters {
		if have == x {
			w.waiters = append(w.waiters[:i:i], w.waiters[i+1:]...)
			return
		}
	}
}

func (w *Waker) of(queue string) []*waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []*waiter
	for _, x := range w.waiters {
		if x.queues[queue] {
			found = append(found, x)
		}
	}
	return found
}

// reserve picks a waiter that will be woken once the task is written, so that no token is needed. It is false when none
// waits: then a token tells the other processes, and wake tells a server here that may be about to wait.
func (w *Waker) reserve(queue string) bool {
	for _, x := range w.of(queue) {
		if x.reserve() {
			return true
		}
	}
	return false
}

// wake tells the servers of this process that queue holds a task. It comes after the write.
func (w *Waker) wake(queue string) {
	for _, x := range w.of(queue) {
		x.wake(queue)
	}
}

// phase is what the goroutine that takes tasks for a server is doing.
type phase int

const (
	away    phase = iota // not started, no slot free, or handing over a task
	looking              // in a round of looks
	waiting              // all queues were empty
)

// waiter is the place where a server waits for tasks. wait and beginRound belong to the goroutine that takes tasks.
type waiter struct {
	queues map[string]bool // immutable
	signal chan struct{}   // holds at most one
	ctx    context.Context // of the looks; ends with Stop
	end    context.CancelFunc
	stop   <-chan struct{} // of ctx

	mu       sync.Mutex
	phase    phase
	reserved bool
	woken    bool   // a wake-up came that no look has followed yet
	queue    string // of the wake-up; empty when there were several
}

func newWaiter(parent context.Context, queues map[string]int) *waiter {
	names := make(map[string]bool, len(queues))
	for name := range queues {
		names[name] = true
	}
	ctx, end := context.WithCancel(parent)
	return &waiter{queues: names, signal: make(chan struct{}, 1), ctx: ctx, end: end, stop: ctx.Done()}
}

// beginRound forgets earlier wake-ups: they came after their tasks were written, so the looks that follow see them.
func (x *waiter) beginRound() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.phase = looking
	x.take()
}

// leave notes that a task was taken or that a look failed. It returns the wake-up that no look has followed yet, if any.
func (x *waiter) leave() (queue string, woken bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.phase = away
	return x.queue, x.woken
}

func (x *waiter) reserve() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.phase != waiting || x.reserved || x.woken {
		return false
	}
	x.reserved = true
	return true
}

// wake notes that queue holds a task. It is false when the server can take none now: somebody else should be told.
func (x *waiter) wake(queue string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.woken && x.queue != queue {
		queue = "" // more than one: a whole round
	}
	x.woken, x.queue, x.reserved = true, queue, false
	select {
	case x.signal <- struct{}{}:
	default: // one is enough
	}
	return x.phase != away
}

// take returns the wake-up, if any, and forgets it. mu is held.
func (x *waiter) take() (queue string, woken bool) {
	queue, woken = x.queue, x.woken
	x.woken, x.queue, x.reserved = false, "", false
	select {
	case <-x.signal:
	default:
	}
	return queue, woken
}

// wait returns at a wake-up (at once if one came during the round), after limit, or at the end. armed is called when the
// wait really begins.
func (x *waiter) wait(limit time.Duration, armed func()) (queue string, woken bool) {
	x.mu.Lock()
	if x.woken {
		defer x.mu.Unlock()
		return x.take()
	}
	x.phase = waiting
	x.take()
	x.mu.Unlock()
	armed()

	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-x.signal:
	case <-timer.C:
	case <-x.stop:
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.phase = looking
	return x.take()
}

// isWaiting is a hint for the goroutine that pops tokens.
func (x *waiter) isWaiting() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.phase == waiting
}

func (x *waiter) stopped() bool {
	select {
	case <-x.stop:
		return true
	default:
		return false
	}
}
