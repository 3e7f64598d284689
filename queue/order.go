package queue

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// freshShare is how many tasks of started executions may be taken before one of a new execution that must wait for them.
const freshShare = 50

// freshBatch is how many new executions one look takes at most. Started ones seem to be done when a worker has taken all
// their tasks, a moment before the next ones come: eight new ones each time would double what is under way.
const freshBatch = 2

// order says which queue is looked at next. One goroutine uses it.
//
// Queues of started executions are drawn by weight, so none starves. A queue of new executions counts only while no queue
// of started ones with the same or a higher priority holds a task: every execution that starts early takes slots from
// those that are under way, until all are half done. Its share of one in freshShare is all it gets meanwhile.
type order struct {
	queues  []ranked
	started int // tasks taken from queues of started executions since the last new one
}

// ranked is a queue with its place among the others.
type ranked struct {
	name   string
	weight int
	rank   int // the weight of the queue of started executions that it belongs to
	fresh  bool
}

// newOrder sorts the queues by name.
func newOrder(weights map[string]int) *order {
	o := &order{}
	for name, weight := range weights {
		q := ranked{name: name, weight: weight, rank: weight}
		base, fresh := strings.CutSuffix(name, execution.NewSuffix)
		if fresh {
			q.fresh, q.rank = true, max(weight, weights[base])
		}
		o.queues = append(o.queues, q)
	}
	slices.SortFunc(o.queues, func(a, b ranked) int { return strings.Compare(a.name, b.name) })
	return o
}

// choose picks one of the queues that hold tasks, by index, and how many tasks to take there, at most room. It is false
// when none holds any.
func (o *order) choose(holding []bool, room int) (queue, most int, ok bool) {
	highest, waits := 0, false
	for i, q := range o.queues {
		if holding[i] && !q.fresh {
			highest = max(highest, q.rank)
		}
	}
	eligible := func(q ranked) bool { return !q.fresh || q.rank > highest }
	for i, q := range o.queues {
		waits = waits || holding[i] && !eligible(q)
	}
	if waits && o.started >= freshShare-1 {
		queue, ok = o.draw(holding, func(q ranked) bool { return !eligible(q) })
		return queue, 1, ok
	}
	queue, ok = o.draw(holding, eligible)
	if ok && o.queues[queue].fresh {
		room = min(room, freshBatch)
	}
	if waits {
		room = min(room, freshShare-1-o.started)
	}
	return queue, room, ok
}

// draw picks one by weight among the queues that hold tasks and are admitted.
func (o *order) draw(holding []bool, admitted func(ranked) bool) (queue int, ok bool) {
	sum, last := 0, -1
	for i, q := range o.queues {
		if holding[i] && admitted(q) {
			sum += q.weight
			last = i
		}
	}
	if last < 0 || sum == o.queues[last].weight {
		return last, last >= 0
	}
	at := rand.N(sum)
	for i, q := range o.queues {
		if !holding[i] || !admitted(q) {
			continue
		}
		if at -= q.weight; at < 0 {
			return i, true
		}
	}
	return last, true
}

// took notes how many tasks a queue has given.
func (o *order) took(queue, n int) {
	switch {
	case !o.queues[queue].fresh:
		o.started = min(o.started+n, freshShare)
	case n > 0:
		o.started = 0
	}
}
