// Package gather sends the commands of several goroutines to one Redis server in one round trip.
//
// Commands that come alone are sent at once, by themselves. Those that come while others are under way wait, and travel
// together in the next pipeline. So nothing is held back on purpose, and the busier a process is the fewer of its system
// calls, and of the server's, a command costs. What a goroutine hands over together stays together, in its order.
//
// Commands share a fate that they do not share when they travel apart: a connection that breaks takes all of its pipeline.
// It is for commands whose callers know what to do when nobody knows whether they were carried out.
package gather

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// lanes is how many pipelines may be under way at once to a far server. With one, a call waits for half a round trip in the
	// mean before its own, which counts on a slow network; with four, pipelines are half as long on a near server.
	lanes = 2
	// near is what the quickest of recent pipelines takes at most when the server is near: then one is under way at a time.
	// What waits for it would wait at the server instead, and each that is saved saves both sides system calls and a wake-up.
	near = 600 * time.Microsecond
	// recent is of how many pipelines the quickest counts.
	recent = 32
	// late is how long a near server's pipeline takes at most before another one goes beside it: its connection may hang.
	late = 10 * time.Millisecond
	// maxCalls bounds a pipeline, so that the first of its commands does not wait long for the replies of the others.
	maxCalls = 64
	// limit bounds how long a pipeline of several callers may take.
	limit = 2 * time.Second
)

// Group is the commands of one client. It is safe for concurrent use.
type Group struct {
	rdb *redis.Client

	mu       sync.Mutex
	underWay int           // pipelines; guarded by mu
	waiting  []*call       // in order; guarded by mu
	began    time.Time     // of the last one under way; guarded by mu
	most     int           // of underWay, as the server is near or far; guarded by mu
	seen     int           // pipelines since most was decided; guarded by mu
	quickest time.Duration // of these; guarded by mu
	riders   []Rider       // replaced, never changed; guarded by mu
}

// call is what one goroutine sends.
type call struct {
	ctx  context.Context
	cmds []redis.Cmder
	turn chan turn // holds at most one
}

// turn is what happens to a call that waited.
type turn int

const (
	sent turn = iota // its commands have their replies
	lead             // it sends what waits
)

// New makes a Group. It is nil when rdb is more than one server, one of which could hold up what is meant for another.
func New(rdb redis.UniversalClient) *Group {
	one, ok := rdb.(*redis.Client)
	if !ok {
		return nil
	}
	return &Group{rdb: one, most: lanes}
}

// Do sends the commands, one behind the other, and returns when each has its reply or its error. An error of Do is that ctx
// has ended before: the commands may or may not be carried out, and must not be looked at any more.
func (g *Group) Do(ctx context.Context, cmds ...redis.Cmder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !g.do(&call{ctx: ctx, cmds: cmds}, ctx.Done()) { //nolint:contextcheck // the context is in the call
		return context.Cause(ctx)
	}
	return nil
}

// do sends the call, or gives it up when it waits at the time that over is closed: then it is false.
func (g *Group) do(c *call, over <-chan struct{}) bool {
	g.mu.Lock()
	if g.underWay < g.most || g.underWay < lanes && time.Since(g.began) > late {
		g.underWay++
		g.began = time.Now()
		g.mu.Unlock()
		defer g.next()
		g.exec(c.ctx, c.cmds)
		return true
	}
	c.turn = make(chan turn, 1)
	g.waiting = append(g.waiting, c)
	g.mu.Unlock()
	select {
	case t := <-c.turn:
		if t == lead {
			defer g.next()
			g.lead(c)
		}
		return true
	case <-over:
		g.leave(c)
		return false
	}
}

// exec sends commands of one caller, or of several, and what rides along.
func (g *Group) exec(ctx context.Context, cmds []redis.Cmder) {
	aboard, arrived := g.board()
	if len(aboard) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		cmds = append(slices.Clip(cmds), aboard...)
	}
	if len(cmds) > 0 {
		g.send(ctx, cmds)
	}
	for _, one := range arrived {
		one()
	}
}

// send sends one pipeline.
func (g *Group) send(ctx context.Context, cmds []redis.Cmder) {
	began := time.Now()
	defer func() { g.took(time.Since(began)) }()
	if len(cmds) == 1 {
		_ = g.rdb.Process(ctx, cmds[0]) // the command has it
		return
	}
	pipe := g.rdb.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...)
	_, _ = pipe.Exec(ctx) // each has its own reply
}

// took notes how long a pipeline took, and decides with every so manieth whether the server is near.
func (g *Group) took(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen == 0 || d < g.quickest {
		g.quickest = d
	}
	if g.seen++; g.seen < recent {
		return
	}
	g.most, g.seen = lanes, 0
	if g.quickest <= near {
		g.most = 1
	}
}

// next lets the first of those that wait send for all of them.
func (g *Group) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
}

// pass wants the lock held. With more under way than may be, nobody follows; another one that is under way will pass.
func (g *Group) pass() {
	if len(g.waiting) == 0 || g.underWay > g.most {
		g.underWay--
		return
	}
	leader := g.waiting[0]
	g.waiting = g.waiting[1:]
	g.began = time.Now()
	leader.turn <- lead
}

// leave is for a call that gives up: it waits no more, or hands its turn on.
func (g *Group) leave(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, c); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return
	}
	select {
	case t := <-c.turn:
		if t == lead {
			g.pass()
		}
	default: // it is being sent
	}
}

// lead sends the leader's commands and what waits.
func (g *Group) lead(leader *call) {
	calls := g.take(leader)
	if len(calls) == 1 {
		g.exec(leader.ctx, leader.cmds)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(leader.ctx), limit)
	defer cancel()
	var cmds []redis.Cmder
	for _, c := range calls {
		cmds = append(cmds, c.cmds...)
	}
	g.exec(ctx, cmds)
	for _, c := range calls[1:] {
		c.turn <- sent
	}
}

// take takes the calls of the next pipeline out of those that wait.
func (g *Group) take(leader *call) []*call {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), maxCalls-1)
	calls := append([]*call{leader}, g.waiting[:n]...)
	if g.waiting = g.waiting[n:]; len(g.waiting) == 0 {
		g.waiting = nil // with the calls that it still holds
	}
	return calls
}
