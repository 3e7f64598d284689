package queue

import (
	"context"
	"sync"
	"time"
)

// Waker joins the Client and the Servers of one process: what the Client enqueues wakes a waiting Server without Redis.
// Give the same Waker to both. Safe for concurrent use; the zero value is ready.
type Waker struct {
	mu      sync.RWMutex
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

// reserve picks a server here that has a slot for one more task of queue, so that no token is needed. It is false when
// none has: then a token tells the other processes.
func (w *Waker) reserve(queue string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, x := range w.waiters {
		if x.reserve(queue) {
			return true
		}
	}
	return false
}

// wake tells the servers of this process that queue holds a task. It comes after the write.
func (w *Waker) wake(queue string) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, x := range w.waiters {
		x.wake(queue)
	}
}

// waiter is the place where a server waits for tasks, and its account of slots. collect, hold, answered and wait belong to
// the goroutine that takes tasks.
type waiter struct {
	queues map[string]int // name → index; immutable
	slots  int            // immutable
	signal chan struct{}  // holds at most one
	timer  *time.Timer    // of wait
	ctx    context.Context
	end    context.CancelFunc
	stop   <-chan struct{} // of ctx, which is that of the looks; ends with Stop

	mu       sync.Mutex
	marked   []bool // by index: a wake-up came that no look has followed yet
	marks    int    // how many are marked
	promised int    // tasks announced as ours since the last look
	held     int    // tasks asked for, or taken and not yet handed to Asynq
	busy     int    // tasks handed to Asynq whose handler has not returned
	waiting  bool
}

func newWaiter(parent context.Context, queues []ranked, slots int) *waiter {
	ctx, end := context.WithCancel(parent)
	x := &waiter{
		queues: make(map[string]int, len(queues)), slots: slots, signal: make(chan struct{}, 1),
		timer: time.NewTimer(time.Hour), ctx: ctx, end: end, stop: ctx.Done(), marked: make([]bool, len(queues)),
	}
	x.timer.Stop()
	for i, q := range queues {
		x.queues[q.name] = i
	}
	return x
}

// free is how many more tasks have a slot. mu is held.
func (x *waiter) free() int { return x.slots - x.busy - x.held }

// room begins a look: it is how many tasks may be taken, from 1 (the look itself has a slot) to most.
func (x *waiter) room(most int) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return max(min(x.free(), most), 1)
}

// collect adds the queues that wake-ups have named to holding and forgets the wake-ups: they came after their tasks were
// written, so the looks that follow see them.
func (x *waiter) collect(holding []bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.promised = 0
	if x.marks == 0 {
		return
	}
	for i, marked := range x.marked {
		holding[i] = holding[i] || marked
	}
	clear(x.marked)
	x.marks = 0
}

// hold notes how many tasks are asked for or kept.
func (x *waiter) hold(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held = n
}

// answered notes that one of the kept tasks goes to Asynq. It is false when it took the last slot.
func (x *waiter) answered() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held--
	x.busy++
	return x.free() > 0
}

// returned notes that a handler has returned.
func (x *waiter) returned() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy--
}

// crowded reports whether Asynq cannot look for another task before one of its own has ended, so many of which have their
// ends under way: it looks with a free slot only.
func (x *waiter) crowded(ending int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.busy+ending >= x.slots || x.stopped()
}

func (x *waiter) reserve(queue string) bool {
	if _, ok := x.queues[queue]; !ok {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.free() <= x.promised || x.stopped() {
		return false
	}
	x.promised++
	return true
}

// wake notes that queue holds a task. It is false when the server can take none now: somebody else should be told.
func (x *waiter) wake(queue string) bool {
	i, ok := x.queues[queue]
	if !ok {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.marked[i] {
		x.marked[i] = true
		x.marks++
	}
	select {
	case x.signal <- struct{}{}:
	default: // one is enough
	}
	return x.free() > 0 || x.waiting
}

// isMarked is whether a wake-up named the queue that no look has followed yet.
func (x *waiter) isMarked(queue int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.marked[queue]
}

// wait returns true at a wake-up, at once if one came that no look has followed, and false after limit or at the end. A
// wait that is not over after listenAfter calls listen.
func (x *waiter) wait(limit time.Duration, listen func()) bool {
	x.mu.Lock()
	if x.marks > 0 {
		x.mu.Unlock()
		return true
	}
	select {
	case <-x.signal:
	default:
	}
	x.waiting = true
	x.mu.Unlock()

	if !x.sleep(min(listenAfter, limit)) && !x.stopped() {
		listen()
		x.sleep(limit - listenAfter)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting = false
	return x.marks > 0
}

// sleep is true when a signal ended it.
func (x *waiter) sleep(d time.Duration) bool {
	x.timer.Reset(d)
	defer x.timer.Stop()
	select {
	case <-x.signal:
		return true
	case <-x.timer.C:
	case <-x.stop:
	}
	return false
}

// isWaiting is a hint for the goroutine that pops tokens.
func (x *waiter) isWaiting() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.waiting
}

func (x *waiter) stopped() bool {
	select {
	case <-x.stop:
		return true
	default:
		return false
	}
}
