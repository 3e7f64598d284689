package executor

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/pawl-run/pawl/execution"
)

// maxConcurrentCalls bounds the calls of one batch that are in flight: a model that asks for thousands at once must not
// take the worker's connections and time from the executions beside it.
const maxConcurrentCalls = 64

// inOrder parts a batch's calls: those that may run together, and those of sequential tools, in the batch's order.
func inOrder(calls []*pending) (together, sequential []*pending) {
	for _, p := range calls {
		if p.spec.Sequential {
			sequential = append(sequential, p)
		} else {
			together = append(together, p)
		}
	}
	return together, sequential
}

// running is the calls of one step under way.
type running struct {
	m       *machine
	failed  atomic.Bool   // failure is set
	turn    chan struct{} // the store is written to by one at a time: each receipt carries the usage after it
	failure error         // guarded by turn
}

// runCalls carries out every call, many at a time and the sequential ones one after the other, and waits for all of them.
// It returns the first error of the store, after which no further call is sent; what happened to the calls is in them.
func (m *machine) runCalls(ctx context.Context, together, sequential []*pending) error {
	var wait sync.WaitGroup
	r := &running{m: m, turn: make(chan struct{}, 1)}
	if len(sequential) > 0 {
		wait.Go(func() { r.chain(ctx, sequential) })
	}
	slots := make(chan struct{}, maxConcurrentCalls)
	for _, p := range together {
		slots <- struct{}{}
		if r.failed.Load() {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			r.one(ctx, p)
		})
	}
	wait.Wait()
	return r.failure
}

// one carries out a call and writes its receipt.
func (r *running) one(ctx context.Context, p *pending) {
	r.m.carryOut(ctx, p)
	if p.result == nil {
		if p.spent != (execution.Usage{}) { // by an agent that was interrupted
			r.write(func() error {
				r.m.state.Usage = r.m.state.Usage.Add(p.spent)
				return nil
			})
		}
		return
	}
	r.write(func() error {
		delete(r.m.grants, p.entry.CallID)
		return r.m.receiveFrom(ctx, p.entry.intent.Call, *p.result, p.spent)
	})
	p.result.Content = nil // the ledger has it: a large one is not to stay until the last call is back
}

// chain carries out calls one after the other. Each is marked right before it is sent, so that those behind one that a
// crash caught are known not to have happened. One that comes to no result stops it: the others wait for their turn.
func (r *running) chain(ctx context.Context, calls []*pending) {
	for _, p := range calls {
		if r.failed.Load() || ctx.Err() != nil || p.question != nil || p.unknown {
			return
		}
		r.write(func() error {
			if err := r.m.delegate(ctx, p); err != nil {
				return err
			}
			return r.m.markStarted(ctx, p)
		})
		if r.failed.Load() {
			return
		}
		if r.one(ctx, p); p.result == nil {
			return
		}
	}
}

// write does one write to the store.
func (r *running) write(do func() error) {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	if err := do(); err != nil && r.failure == nil {
		r.failure = err
		r.failed.Store(true)
	}
}
