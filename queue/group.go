package queue

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// group sends commands of several goroutines in one pipeline: those that come while one is under way travel together in the
// next. One that comes alone is sent at once, by itself. Safe for concurrent use.
type group struct {
	rdb redis.UniversalClient

	mu      sync.Mutex
	busy    bool    // somebody sends; guarded by mu
	waiting []*call // for the next pipeline, in order; guarded by mu
}

// call is one command in a group.
type call struct {
	ctx  context.Context
	cmd  redis.Cmder
	turn chan turn // holds at most one
}

// turn is what happens to a call that waited.
type turn int

const (
	sent turn = iota // its command has its reply
	lead             // it sends what waits
)

// newGroup is nil in a Cluster, where one node could hold up what is meant for another.
func newGroup(rdb redis.UniversalClient) *group {
	if _, cluster := rdb.(*redis.ClusterClient); cluster {
		return nil
	}
	return &group{rdb: rdb}
}

// do sends the command and returns when it has its reply or error. The caller's context counts only for a command that is
// sent by itself.
func (g *group) do(ctx context.Context, cmd redis.Cmder) {
	g.mu.Lock()
	if !g.busy {
		g.busy = true
		g.mu.Unlock()
		defer g.next()
		_ = g.rdb.Process(ctx, cmd) // the command has it
		return
	}
	c := &call{ctx: ctx, cmd: cmd, turn: make(chan turn, 1)}
	g.waiting = append(g.waiting, c)
	g.mu.Unlock()
	if <-c.turn == lead {
		defer g.next()
		g.send(c) //nolint:contextcheck // the context is in the call
	}
}

// next lets the first of those that wait send for all of them.
func (g *group) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.busy = false
		return
	}
	g.waiting[0].turn <- lead
}

// send sends all that wait, of which leader is the first.
func (g *group) send(leader *call) {
	g.mu.Lock()
	calls := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(leader.ctx), endTimeout)
	defer cancel()
	if len(calls) == 1 {
		_ = g.rdb.Process(ctx, leader.cmd)
		return
	}
	cmds := make([]redis.Cmder, len(calls))
	for i, c := range calls {
		cmds[i] = c.cmd
	}
	pipe := g.rdb.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...)
	_, _ = pipe.Exec(ctx) // each has its own reply
	for _, c := range calls[1:] {
		c.turn <- sent
	}
}

// evalShaArgs are the words of an EVALSHA.
func evalShaArgs(sha string, keys []string, args []any) []any {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", sha, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return append(all, args...)
}
