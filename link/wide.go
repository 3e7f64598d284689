package link

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

const (
	// lanes is how many executions are read at a time for those who follow all; one execution is always read by the same.
	lanes = 16
	// laneLength is what may wait for a lane; more waits in the subscription, which says when that is too much.
	laneLength = 64
)

// FollowAll implements RuntimeLink.
func (l *session) FollowAll(ctx context.Context) (execution.Stream, error) {
	switch l.authority.Role {
	case execution.SubmitRole, execution.ReadRole, execution.OperateRole:
	default:
		return nil, forbidden("the caller has no role")
	}
	sees := func(caller execution.CallerScope) bool { return l.maySee(&journal.Execution{Caller: caller}) == nil }
	return l.service.wide.follow(ctx, sees)
}

// wide follows all executions for all streams that do in this process. It reads what a hint names, and nothing of executions
// that none of its streams may see; whose an execution is, it asks once.
type wide struct {
	service *Service

	mu        sync.Mutex
	followers map[*wideFollower]struct{}
	run       *wideRun // nil: nobody follows
}

// wideRun is one subscription and those that read for it.
type wideRun struct {
	wide    *wide
	ready   chan struct{} // closed when the subscription is in force, or has failed
	err     error         // set before ready is closed
	end     context.CancelFunc
	callers callers
	lanes   [lanes]chan journal.WideSignal
}

// wideFollower is one stream of all executions.
type wideFollower struct {
	wide  *wide
	sees  func(execution.CallerScope) bool
	ctx   context.Context // of the stream
	queue *queue
	once  sync.Once
}

func (w *wide) follow(ctx context.Context, sees func(execution.CallerScope) bool) (execution.Stream, error) {
	f := &wideFollower{wide: w, sees: sees, ctx: ctx, queue: newQueue()}
	run := w.add(f) //nolint:contextcheck // the subscription outlives the stream that opens it
	select {
	case <-run.ready:
		if run.err != nil {
			_ = f.Close() // the subscription's error is the one that matters
			return nil, run.err
		}
		return f, nil
	case <-time.After(joinTimeout):
		_ = f.Close()
		return nil, silent()
	case <-ctx.Done():
		_ = f.Close()
		return nil, ctx.Err()
	}
}

// joinTimeout bounds how long whoever wants to follow waits for the subscription to be in force.
const joinTimeout = 5 * time.Second

// silent is the error of a store that does not confirm a subscription.
func silent() error {
	return execution.NewAPIError(execution.Unavailable, "the store did not answer").After(time.Second)
}

func (w *wide) add(f *wideFollower) *wideRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followers[f] = struct{}{}
	if w.run == nil {
		ctx, end := context.WithCancel(context.Background())
		w.run = &wideRun{wide: w, ready: make(chan struct{}), end: end}
		go w.run.start(ctx)
	}
	return w.run
}

// Next implements execution.Stream.
func (f *wideFollower) Next(ctx context.Context) (execution.StreamItem, error) {
	for {
		item, ok, err := f.queue.take()
		if ok || err != nil {
			return item, err
		}
		if err := f.queue.wait(ctx, f.ctx); err != nil {
			return execution.StreamItem{}, err
		}
	}
}

// Close implements execution.Stream.
func (f *wideFollower) Close() error {
	f.once.Do(func() {
		f.wide.mu.Lock()
		defer f.wide.mu.Unlock()
		delete(f.wide.followers, f)
		if len(f.wide.followers) == 0 && f.wide.run != nil {
			f.wide.run.end()
			f.wide.run = nil
		}
	})
	return nil
}

// start subscribes, and hands signals to the lanes until ctx ends.
func (r *wideRun) start(ctx context.Context) {
	service := r.wide.service
	bounded, cancel := context.WithTimeout(ctx, subscribeTimeout)
	subscription, err := service.cfg.Journal.FollowAll(bounded)
	cancel()
	if err != nil {
		r.err = service.problem(ctx, "follow all", err)
		r.over(r.err)
		close(r.ready)
		return
	}
	defer func() { _ = subscription.Close() }() // nothing more is expected of it
	for i := range r.lanes {
		lane := make(chan journal.WideSignal, laneLength)
		r.lanes[i] = lane
		go func() {
			for signal := range lane {
				r.take(ctx, signal)
			}
		}()
	}
	close(r.ready)
	r.hand(ctx, subscription.Signals())
	for _, lane := range r.lanes {
		close(lane)
	}
}

func (r *wideRun) hand(ctx context.Context, signals <-chan journal.WideSignal) {
	seed := maphash.MakeSeed()
	for {
		select {
		case <-ctx.Done():
			return
		case signal, open := <-signals:
			if !open || signal.Execution == "" {
				r.over(missed())
				return
			}
			lane := r.lanes[maphash.String(seed, string(signal.Execution))%lanes]
			select {
			case lane <- signal:
			case <-ctx.Done():
				return
			}
		}
	}
}

// missed: what happened meanwhile is in the logs, and nobody knows in which.
func missed() error {
	return execution.NewAPIError(execution.Overloaded,
		"messages were lost: list what was updated since, and follow again")
}

// over ends the run and its streams; they may follow again, in a new one.
func (r *wideRun) over(err error) {
	r.wide.mu.Lock()
	defer r.wide.mu.Unlock()
	if r.wide.run != r {
		return
	}
	for f := range r.wide.followers {
		f.queue.end(err)
	}
	r.end()
	r.wide.run, r.wide.followers = nil, make(map[*wideFollower]struct{})
}

// take hands on what a signal brings to those who may see it.
func (r *wideRun) take(ctx context.Context, signal journal.WideSignal) {
	if ctx.Err() != nil || signal.Frame == nil && signal.Last == 0 {
		return
	}
	caller, known := r.callers.get(signal.Execution)
	if known && len(r.watching(caller)) == 0 {
		return
	}
	var items []queued
	if frame := signal.Frame; frame != nil {
		items = []queued{{execution.StreamItem{Frame: frame}, frameSize(frame)}}
	}
	if signal.Frame == nil || !known {
		page, err := r.read(ctx, signal)
		if err != nil {
			r.failed(ctx, err)
			return
		}
		caller = page.caller
		r.callers.put(signal.Execution, caller)
		items = append(items, page.items...)
	}
	for _, f := range r.watching(caller) {
		for _, one := range items {
			one.item.Execution = signal.Execution
			f.queue.push(one.item, one.size)
		}
	}
}

// failed ends the run when events cannot be read; of an execution that is deleted already there are none.
func (r *wideRun) failed(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil, errors.Is(err, execution.ErrNotFound):
	case errors.Is(err, execution.ErrUnavailable):
		r.over(err)
	default:
		r.over(missed())
	}
}

// watching are the streams that may see what the caller submitted.
func (r *wideRun) watching(caller execution.CallerScope) []*wideFollower {
	r.wide.mu.Lock()
	defer r.wide.mu.Unlock()
	var out []*wideFollower
	if r.wide.run != r {
		return nil
	}
	for f := range r.wide.followers {
		if f.sees(caller) {
			out = append(out, f)
		}
	}
	return out
}

type widePage struct {
	items  []queued
	caller execution.CallerScope
}

// read takes the events that the signal names and no others, so that each comes once; of a frame, only whose execution it is.
func (r *wideRun) read(ctx context.Context, signal journal.WideSignal) (widePage, error) {
	var out widePage
	for next := signal.First; ; {
		after, limit := execution.Sequence(0), 0
		if signal.Frame == nil {
			after, limit = next-1, min(int(signal.Last-next)+1, readPage)
		}
		page, err := r.wide.service.page(ctx, signal.Execution, after, limit)
		if err != nil {
			return out, err
		}
		items, err := measured(page.Events)
		if err != nil {
			return out, r.wide.service.problem(ctx, "events "+string(signal.Execution), err)
		}
		out.caller, out.items = page.Caller, append(out.items, items...)
		if next += execution.Sequence(len(items)); next > signal.Last || len(items) == 0 {
			return out, nil
		}
	}
}
