package executor

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// claim asks for the task's step. A nil holder with a nil error means that there is nothing to do.
func (d *Durable) claim(ctx context.Context, task execution.Task) (*holder, error) {
	try := d.nonces.take(task.ID(), d.cfg.ClaimTTL/2)
	step := task.Step
	claimCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	known := d.histories.get(task.Execution)
	claimed, err := d.cfg.Store.Claim(claimCtx, journal.ClaimRequest{
		Execution: task.Execution, Step: &step, Worker: d.worker, Nonce: try.nonce, TTL: d.cfg.ClaimTTL,
		MaxReclaims: d.cfg.MaxReclaims, KnownMessages: known.known(), History: d.cfg.NodesPerTask > 1,
	})
	if err != nil {
		return nil, d.notClaimed(ctx, task, try, err)
	}
	d.cfg.Observer.Claimed(claimed.Reclaimed)
	return newHolder(ctx, d, claimed, known, try.at), nil
}

// notClaimed decides what becomes of the task.
func (d *Durable) notClaimed(ctx context.Context, task execution.Task, try nonceTry, err error) error {
	var refused *journal.ClaimRefused
	switch {
	case errors.As(err, &refused):
		d.enqueue(ctx, refused.Tasks)
		d.cfg.Logger.DebugContext(ctx, "claim not granted", "execution", task.Execution, "step", task.Step,
			"task", task.ID(), "reason", refused.Reason)
		if refused.Reason == journal.ClaimAhead && d.aheads.again(task.ID()) {
			return &execution.PutBack{After: between(5*time.Millisecond, 50*time.Millisecond), Err: err}
		}
		if refused.Reason == journal.ClaimOverloaded {
			return &execution.PutBack{After: between(800*time.Millisecond, 1200*time.Millisecond), Err: err}
		}
		return nil
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case errors.Is(err, execution.ErrNewer): // the very task is left to a worker of that release
		d.cfg.Observer.Newer()
		return &execution.PutBack{After: between(800*time.Millisecond, 5*time.Second), Err: err}
	default: // the claim may have been granted: whoever asks again under this nonce gets it
		d.nonces.keep(task.ID(), try)
		d.cfg.Logger.WarnContext(ctx, "claim without an answer", "execution", task.Execution, "step", task.Step,
			"task", task.ID(), "error", err)
		return &execution.PutBack{After: between(800*time.Millisecond, 1200*time.Millisecond), Err: err}
	}
}

// between is a random duration of [low, high).
func between(low, high time.Duration) time.Duration { return low + mathrand.N(high-low) }

// nonceTry is an attempt at a claim: its nonce, and when it was first used, from which trust is counted.
type nonceTry struct {
	nonce string
	at    time.Time
}

// maxNonces bounds the claims without an answer that are remembered.
const maxNonces = 1024

// nonces remembers the claims whose answer was lost, by task, so that the same task picked up again asks for the very same
// claim and does not wait for its own to run out. Who takes a nonce has it alone.
type nonces struct {
	mu    sync.Mutex
	tries map[string]*list.Element // guarded by mu
	order *list.List               // guarded by mu; oldest in front
}

type nonceEntry struct {
	task string
	try  nonceTry
}

func newNonces() *nonces { return &nonces{tries: map[string]*list.Element{}, order: list.New()} }

// take gives the nonce of a lost answer if it is younger than fresh, else a new one.
func (n *nonces) take(task string, fresh time.Duration) nonceTry {
	n.mu.Lock()
	defer n.mu.Unlock()
	if element, ok := n.tries[task]; ok {
		entry := n.order.Remove(element).(nonceEntry)
		delete(n.tries, task)
		if time.Since(entry.try.at) < fresh {
			return entry.try
		}
	}
	return nonceTry{nonce: rand.Text(), at: time.Now()}
}

func (n *nonces) keep(task string, try nonceTry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.tries[task]; ok {
		return // another delivery of the same task has its own
	}
	n.tries[task] = n.order.PushBack(nonceEntry{task: task, try: try})
	if n.order.Len() > maxNonces {
		oldest := n.order.Remove(n.order.Front()).(nonceEntry)
		delete(n.tries, oldest.task)
	}
}

// maxAhead is how often a task that came ahead of its row is put back. One that was enqueued with a commit which then was
// refused stays ahead, perhaps for as long as another worker's node runs.
const maxAhead = 3

// aheads counts how often tasks came ahead of their rows. The zero value is ready.
type aheads struct {
	mu     sync.Mutex
	counts map[string]int // guarded by mu; by task
}

// again counts, and reports whether the task is to be put back once more.
func (a *aheads) again(task string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil || len(a.counts) >= maxNonces { // counting anew costs a few rounds
		a.counts = map[string]int{}
	}
	a.counts[task]++
	if a.counts[task] <= maxAhead {
		return true
	}
	delete(a.counts, task)
	return false
}
