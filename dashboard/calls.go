package dashboard

import (
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// calls are the tool calls of a picture, in the order in which they were planned, or its model requests. The event that a call
// was started is written when it is planned, so what it did until it was done is told by what the execution waited for meanwhile.
type calls struct {
	kind      string // of their bars: tool or model
	node      string // at which they are carried out
	all       []call
	known     map[string]int
	children  map[execution.CallID]bool // calls that started executions of their own, which go on whatever their parent waits for
	question  string                    // what the open question waits for; empty: there is none
	stopped   bool                      // the execution is suspended
	reclaimed int64                     // when the step of the calls was last taken over
	busy      []int64                   // until when each row is taken
}

// call is a call: its parts follow each other without a gap. end is -1 until it is done.
type call struct {
	id       string
	name     string
	failed   bool
	start    int64
	end      int64
	parts    []callPart
	row      int
	unending bool // it goes on
}

// callPart is a part of a call, from an instant on: what it waits for, or nothing while it runs.
type callPart struct {
	waits string
	from  int64
}

const (
	// forResume is what the calls of a suspended execution wait for.
	forResume = "for the execution to be resumed"
	// forRetry is what the calls of a step that has failed wait for.
	forRetry = "for another attempt"
)

// waitsFor is what a call waits for while a question of the kind is open.
func waitsFor(kind execution.InteractionKind) string {
	switch kind {
	case execution.Approval:
		return "for a decision"
	case execution.ClientToolResult:
		return "for a result"
	case execution.Authentication:
		return "for an authentication"
	default:
		return "for an answer"
	}
}

func (c *calls) started(id, name string, now int64) {
	if _, known := c.known[id]; known {
		return
	}
	c.known[id] = len(c.all)
	c.all = append(c.all, call{id: id, name: name, start: now, end: -1, parts: []callPart{{from: now}}})
}

func (c *calls) done(id string, failed bool, now int64) {
	if i, known := c.known[id]; known {
		c.all[i].end, c.all[i].failed = now, failed
		c.all[i].forget(now)
	}
}

// open gives each call that is not done to f, without those of children.
func (c *calls) open(f func(*call)) {
	for i := range c.all {
		if one := &c.all[i]; one.end < 0 && !c.children[execution.CallID(one.id)] {
			f(one)
		}
	}
}

// asked begins the wait for a person or a result. What a person must approve was not sent before, unless a worker that sent it
// has died: such a question may be about what became of it.
func (c *calls) asked(kind execution.InteractionKind, now int64) {
	c.question = waitsFor(kind)
	c.open(func(one *call) {
		if last := one.parts[len(one.parts)-1]; kind == execution.Approval && last.waits == "" && last.from >= c.reclaimed {
			one.become(c.question, last.from)
		}
		one.become(c.question, now)
	})
}

func (c *calls) answered(now int64) {
	c.question = ""
	c.goOn(now)
}

func (c *calls) suspended(now int64) {
	c.stopped = true
	c.goOn(now)
}

func (c *calls) resumed(now int64) {
	c.stopped = false
	c.goOn(now)
}

// retried has the open calls wait until they are tried again, if that is the node that carries them out.
func (c *calls) retried(e *execution.RetryScheduled, now int64) {
	if e.Node != c.node {
		return
	}
	c.open(func(one *call) {
		one.become(forRetry, now)
		if e.AtMs > now {
			one.become("", min(e.AtMs, maxInstant))
		}
	})
}

// goOn has the open calls do what they do now.
func (c *calls) goOn(now int64) {
	waits := c.question
	if waits == "" && c.stopped {
		waits = forResume
	}
	c.open(func(one *call) { one.become(waits, now) })
}

// become begins another part of the call; one that would be over at once is left out.
func (c *call) become(waits string, now int64) {
	c.forget(now)
	last := &c.parts[len(c.parts)-1]
	switch {
	case last.waits == waits:
		return
	case last.from < now:
		c.parts = append(c.parts, callPart{waits, now})
		return
	}
	last.waits = waits
	if n := len(c.parts); n > 1 && c.parts[n-2].waits == waits {
		c.parts = c.parts[:n-1]
	}
}

// forget takes back what was to become of the call at an instant that has not come.
func (c *call) forget(now int64) {
	for n := len(c.parts); n > 1 && c.parts[n-1].from > now; n = len(c.parts) {
		c.parts = c.parts[:n-1]
	}
}

// close ends the calls that nobody has ended, which go on only while the execution is open, and gives each a row of its own while
// others are there.
func (c *calls) close(end int64, open bool) {
	for i := range c.all {
		one := &c.all[i]
		if one.end < 0 {
			one.end, one.unending = end, open
			one.forget(end)
		}
		if c.kind != "tool" {
			continue
		}
		for one.row < len(c.busy) && c.busy[one.row] > one.start && one.row < maxToolLanes-1 {
			one.row++
		}
		if one.row == len(c.busy) {
			c.busy = append(c.busy, 0)
		}
		c.busy[one.row] = one.end
	}
}

// bars are the parts of the calls.
func (c *calls) bars() []bar {
	var bars []bar
	for _, one := range c.all {
		for i, part := range one.parts {
			b := bar{Kind: c.kind, Label: one.name, start: part.from, end: one.end, row: one.row}
			if c.kind == "tool" {
				b.Title = one.id
				b.row++
			}
			last := i == len(one.parts)-1
			if !last {
				b.end = one.parts[i+1].from
			}
			b.Open = last && one.unending
			switch {
			case part.waits == forResume:
				b.Kind = "suspended"
			case part.waits == forRetry:
				b.Kind, b.Name, b.Label = "pause", one.name, ""
			case part.waits != "":
				b.Kind = "waiting"
			case one.failed && last:
				b.Kind = "failed"
			}
			if part.waits != "" {
				b.Title += " waits " + part.waits
			}
			bars = append(bars, b)
		}
	}
	return bars
}

// waited says how many of the calls have waited, and for how long at most; nothing when none has.
func (c *calls) waited() string {
	longest, count := int64(0), 0
	for _, one := range c.all {
		sum, waits := int64(0), false
		for i, part := range one.parts {
			if part.waits == "" || part.waits == forRetry {
				continue
			}
			until := one.end
			if i+1 < len(one.parts) {
				until = one.parts[i+1].from
			}
			sum, waits = sum+until-part.from, true
		}
		if waits {
			count++
			longest = max(longest, sum)
		}
	}
	switch count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; 1 of the calls waited, %s", duration(longest))
	default:
		return fmt.Sprintf("; %d of the calls waited, up to %s", count, duration(longest))
	}
}
