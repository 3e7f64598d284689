package a2a

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// PushTiming says how others are told of tasks. The zero value works.
type PushTiming struct {
	// Look is how often a process looks for tasks that nobody looks after. Default 1s.
	Look time.Duration
	// Lease is for how long others leave a task alone that a process looks after, after it has died. Default 30s.
	Lease time.Duration
	// Timeout bounds one notification. Default 10s.
	Timeout time.Duration
	// Backoff is the pause after the first attempt that fails; it doubles up to MaxBackoff. Defaults 1s and 1m.
	Backoff, MaxBackoff time.Duration
	// GiveUp is how long after a change one tries to tell of it. Default 1h.
	GiveUp time.Duration
}

func (t *PushTiming) defaults() []struct {
	name  string
	value *time.Duration
	def   time.Duration
} {
	return []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"Push.Look", &t.Look, time.Second},
		{"Push.Lease", &t.Lease, 30 * time.Second},
		{"Push.Timeout", &t.Timeout, 10 * time.Second},
		{"Push.Backoff", &t.Backoff, time.Second},
		{"Push.MaxBackoff", &t.MaxBackoff, time.Minute},
		{"Push.GiveUp", &t.GiveUp, time.Hour},
	}
}

const (
	// maxWatched bounds the tasks that one process looks after; the rest is left to others, or to later.
	maxWatched = 10_000
	// takeLimit is how many tasks of a partition are taken at a time.
	takeLimit = 100
)

// pusher tells others of their tasks. It takes tasks from the index of those that somebody is to be told of, follows each, and
// sends what it has become whenever its state changes. Any number of processes may do so.
type pusher struct {
	face   *Face
	guard  guard
	sender *sender
	wake   chan struct{} // capacity 1: there may be something to take

	mu      sync.Mutex
	watched map[execution.ID]chan struct{} // to look again; capacity 1
}

func newPusher(f *Face) *pusher {
	g := guard{allow: f.cfg.PushAllow, local: f.cfg.PushLocal}
	return &pusher{
		face: f, guard: g, sender: newSender(g, f.cfg.Push.Timeout), wake: make(chan struct{}, 1),
		watched: map[execution.ID]chan struct{}{},
	}
}

// hurry looks for tasks at once.
func (p *pusher) hurry() { poke(p.wake) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will look
	}
}

// Run tells others of their tasks until ctx ends. Without Config.Pushes it only waits.
func (f *Face) Run(ctx context.Context) error {
	if f.pusher == nil {
		<-ctx.Done()
		return nil
	}
	f.pusher.run(ctx)
	return nil
}

func (p *pusher) run(ctx context.Context) {
	timing := p.face.cfg.Push
	look, keep := time.NewTicker(timing.Look), time.NewTicker(timing.Lease/3)
	defer look.Stop()
	defer keep.Stop()
	var all sync.WaitGroup
	for ctx.Err() == nil {
		p.take(ctx, &all)
		select {
		case <-ctx.Done():
		case <-look.C:
		case <-p.wake:
		case <-keep.C:
			p.prolong(ctx, timing.Lease)
		}
	}
	ids := p.ids()
	all.Wait()
	p.sender.client.CloseIdleConnections()
	// Another process may go on at once. It does no harm that it tells again what was told in this moment.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.Timeout)
	defer cancel()
	if err := p.face.cfg.Pushes.KeepPushes(ctx, ids, 0); err != nil {
		p.face.cfg.Logger.WarnContext(ctx, "tasks were not handed over; others look after them in a while", "tasks", len(ids), "error", err)
	}
}

func (p *pusher) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.watched)
}

func (p *pusher) ids() []execution.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make([]execution.ID, 0, len(p.watched))
	for id := range p.watched {
		ids = append(ids, id)
	}
	return ids
}

func (p *pusher) prolong(ctx context.Context, lease time.Duration) {
	if err := p.face.cfg.Pushes.KeepPushes(ctx, p.ids(), lease); err != nil && ctx.Err() == nil {
		p.face.cfg.Logger.WarnContext(ctx, "tasks cannot be kept from others", "error", err)
	}
}

// take looks after the tasks that nobody looks after.
func (p *pusher) take(ctx context.Context, all *sync.WaitGroup) {
	room := maxWatched - p.count()
	if room <= 0 {
		return
	}
	limit := min(takeLimit, (room+execution.Partitions-1)/execution.Partitions)
	taken, err := p.face.cfg.Pushes.TakePushes(ctx, limit, p.face.cfg.Push.Lease)
	if err != nil {
		if ctx.Err() == nil {
			p.face.cfg.Logger.WarnContext(ctx, "cannot look for tasks to tell of", "error", err)
		}
		return
	}
	for _, id := range taken {
		again, is := p.watch(id)
		if is {
			poke(again)
			continue
		}
		all.Go(func() {
			defer p.forget(id)
			p.attend(ctx, id, again)
		})
	}
}

// watch is the channel of a task, and whether it is looked after already.
func (p *pusher) watch(id execution.ID) (again chan struct{}, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if again, is = p.watched[id]; !is {
		again = make(chan struct{}, 1)
		p.watched[id] = again
	}
	return again, is
}

func (p *pusher) forget(id execution.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watched, id)
}

// authority is that of those who tell of everything.
func (*pusher) authority() execution.Authority {
	return execution.Authority{
		Caller: execution.CallerScope{Tenant: execution.AllTenants, Subject: "a2a"}, Role: execution.ReadRole,
	}
}

// link is the runtime as they see it.
func (p *pusher) link() link.RuntimeLink { return p.face.cfg.Link.As(p.authority()) }

// matters reports whether a task may be in another state after an event. Those of models and tools come and go while it works.
func matters(payload execution.Payload) bool {
	switch payload.(type) {
	case *execution.ModelStarted, *execution.ModelCompleted, *execution.ToolStarted, *execution.ToolCompleted:
		return false
	default:
		return true
	}
}

// attend tells of a task until all is told, or ctx ends.
func (p *pusher) attend(ctx context.Context, id execution.ID, again chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	following.Go(func() { p.follow(ctx, id, again) })
	telling := &telling{pusher: p, id: id, attempts: map[string]attempt{}}
	for {
		next, done, err := telling.round(ctx)
		switch {
		case ctx.Err() != nil || done:
			return
		case err != nil:
			p.face.cfg.Logger.WarnContext(ctx, "a task cannot be looked at", "execution", id, "error", err)
			next = p.face.cfg.Push.Backoff
		}
		var timer <-chan time.Time
		if next > 0 {
			timer = time.After(next)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-timer:
		}
	}
}

// follow says whenever the task may have become something else, and once when it is followed. What was in the log before is
// not read: the first round sees what came of it.
func (p *pusher) follow(ctx context.Context, id execution.ID, again chan struct{}) {
	var after execution.Sequence
	for first := true; ctx.Err() == nil; {
		var stream execution.Stream
		var err error
		if first {
			var standing link.Standing
			if standing, err = p.face.cfg.Link.Standing(ctx, p.authority(), id); err == nil {
				first, after = false, standing.Last
				poke(again)
			}
		}
		if err == nil {
			stream, err = p.link().Follow(ctx, id, after)
		}
		for err == nil {
			var item execution.StreamItem
			if item, err = stream.Next(ctx); err == nil && item.Event != nil {
				if after = item.Event.Sequence; matters(item.Event.Payload) {
					poke(again)
				}
			}
		}
		if stream != nil {
			_ = stream.Close() // nothing more is read
		}
		poke(again)
		if errors.Is(err, io.EOF) || errors.Is(err, execution.ErrNotFound) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(p.face.cfg.Push.Backoff):
		}
	}
}
