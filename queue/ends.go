package queue

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/gather"
)

// endPatience is how long the end of a task waits at most for something to travel with.
const endPatience = 2 * time.Millisecond

// ends are the ends of tasks of one lane. An end is in no hurry: the next step of its execution stands already, and nothing
// but a slot waits for it. So it rides along with what the process sends anyway, and ends of one queue share a script. It
// goes by itself when nothing was sent for a while, and at once when Asynq has no slot without it. Safe for concurrent use.
type ends struct {
	rdb      redis.UniversalClient
	group    *gather.Group
	join     *doneJoin
	patience time.Duration // endPatience but in tests

	mu      sync.Mutex
	waiting []*ending   // in order; guarded by mu
	timer   *time.Timer // until those that wait go by themselves; nil before the first; guarded by mu
	open    int         // ends without a reply; guarded by mu
}

// ending is the end of one task.
type ending struct {
	cmd  *redis.Cmd
	done chan struct{} // closed when cmd has its reply or error
}

// newEnds is nil without a group.
func newEnds(rdb redis.UniversalClient, group *gather.Group, patience time.Duration) *ends {
	if group == nil {
		return nil
	}
	e := &ends{rdb: rdb, group: group, join: newDoneJoin(), patience: patience}
	group.Carry(e)
	return e
}

// evalSha is EVALSHA of an end. urgent reports, of as many ends as have no reply, whether this one must go at once.
func (e *ends) evalSha(ctx context.Context, sha string, keys []string, args []any, urgent func(open int) bool) *redis.Cmd {
	one := &ending{cmd: redis.NewCmd(ctx, evalShaArgs(sha, keys, args)...), done: make(chan struct{})}
	if e.wait(one, urgent) {
		e.group.Depart(one.done) //nolint:contextcheck // it is sent with those of others
	}
	<-one.done
	return one.cmd
}

// wait has the end travel with the next pipeline. It is true when that must be sent now.
func (e *ends) wait(one *ending, urgent func(open int) bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, one)
	e.open++
	if urgent(e.open) {
		return true
	}
	switch {
	case e.timer == nil:
		e.timer = time.AfterFunc(e.patience, e.flush)
	case len(e.waiting) == 1:
		e.timer.Reset(e.patience)
	}
	return false
}

// flush sends what waits, with the next pipeline. A nil e has nothing.
func (e *ends) flush() {
	if e != nil {
		e.group.Depart(nil)
	}
}

// Board implements gather.Rider.
func (e *ends) Board() (cmds []redis.Cmder, arrived func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	aboard := e.waiting
	if len(aboard) == 0 {
		return nil, nil
	}
	e.waiting = nil
	if e.timer != nil {
		e.timer.Stop()
	}
	for _, one := range aboard {
		cmds = append(cmds, one.cmd)
	}
	return e.join.board(e.rdb, cmds, func() { e.answered(aboard) })
}

// answered tells those whose ends have their replies.
func (e *ends) answered(aboard []*ending) {
	e.mu.Lock()
	e.open -= len(aboard)
	e.mu.Unlock()
	for _, one := range aboard {
		close(one.done)
	}
}
