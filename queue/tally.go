package queue

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// tallySpan is the span of time that a worker tells of: what lies further back is forgotten.
	tallySpan = time.Minute
	// tallyStep is the least time between two moments that are remembered, which bounds how many there are.
	tallyStep = 4 * time.Second
)

// waitBounds are up to how many milliseconds a wait may be to count for each part of a tally. The last one holds the rest.
func waitBounds() []int64 {
	return []int64{
		1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 2000, 3000, 5000, 10_000, 30_000, 60_000, 3_600_000,
	}
}

// Tally counts what a worker does, for whoever looks at the workers: Presence tells of it. Its methods are safe for
// concurrent use, return at once and allocate nothing.
type Tally struct {
	steps, started, ended, reclaims, fenced atomic.Int64
	bounds                                  []int64
	waits                                   []atomic.Int64

	mutex sync.Mutex
	past  []moment // the oldest first; the first one is the one that what is told counts from
}

// moment is how far the counts were.
type moment struct {
	at     time.Time
	counts counts
}

type counts struct {
	steps, started, ended, reclaims, fenced int64
	waits                                   []int64
}

// NewTally makes a Tally of which nothing is counted yet.
func NewTally() *Tally {
	bounds := waitBounds()
	t := &Tally{bounds: bounds, waits: make([]atomic.Int64, len(bounds))}
	t.past = []moment{{time.Now(), t.now()}}
	return t
}

// Step counts a step that came to its boundary; first, that it was the first one of its execution.
func (t *Tally) Step(first bool) {
	t.steps.Add(1)
	if first {
		t.started.Add(1)
	}
}

// Ended counts an execution that ended.
func (t *Tally) Ended() { t.ended.Add(1) }

// Reclaimed counts a claim of a step whose earlier claim had run out.
func (t *Tally) Reclaimed() { t.reclaims.Add(1) }

// Fenced counts a claim that was superseded: the writes of its holder were refused.
func (t *Tally) Fenced() { t.fenced.Add(1) }

// Waited counts how long a task has waited from the moment it might run until the worker took it.
func (t *Tally) Waited(took time.Duration) {
	ms, i := took.Milliseconds(), 0
	if took > time.Duration(ms)*time.Millisecond {
		ms++ // a wait counts for the part that bounds it
	}
	for i < len(t.bounds)-1 && ms > t.bounds[i] {
		i++
	}
	t.waits[i].Add(1)
}

func (t *Tally) now() counts {
	c := counts{
		steps: t.steps.Load(), started: t.started.Load(), ended: t.ended.Load(), reclaims: t.reclaims.Load(), fenced: t.fenced.Load(),
		waits: make([]int64, len(t.waits)),
	}
	for i := range t.waits {
		c.waits[i] = t.waits[i].Load()
	}
	return c
}

// told is what is told of the worker at an instant: its last minute, or all of its time while that is shorter.
func (t *Tally) told(at time.Time) *Work {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	now := t.now()
	for len(t.past) > 1 && at.Sub(t.past[1].at) >= tallySpan {
		t.past = t.past[1:]
	}
	from := t.past[0]
	work := &Work{
		SpanMs: at.Sub(from.at).Milliseconds(), Steps: now.steps - from.counts.steps, Started: now.started - from.counts.started,
		Ended: now.ended - from.counts.ended, Reclaims: now.reclaims, Fenced: now.fenced,
	}
	for i, count := range now.waits {
		if count -= from.counts.waits[i]; count > 0 {
			if work.Waits == nil {
				work.Waits = map[int64]int64{}
			}
			work.Waits[t.bounds[i]] = count
		}
	}
	if at.Sub(t.past[len(t.past)-1].at) >= tallyStep {
		t.past = append(t.past, moment{at, now})
	}
	return work
}

// Work is what a worker has done: in the last SpanMs how many steps came to their boundaries, how many executions started
// with one and ended with one of its own, and how long tasks waited before it took them; since its start, how many claims
// it took of steps whose earlier claim had run out, and how many of its own were superseded. Waits counts by the most
// milliseconds that a wait took.
type Work struct {
	SpanMs   int64           `json:"spanMs"`
	Steps    int64           `json:"steps"`
	Started  int64           `json:"started"`
	Ended    int64           `json:"ended"`
	Reclaims int64           `json:"reclaims"`
	Fenced   int64           `json:"fenced"`
	Waits    map[int64]int64 `json:"waits,omitempty"`
}
