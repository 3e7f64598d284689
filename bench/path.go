package bench

import (
	"sync"
	"time"

	"github.com/pawl-run/pawl/journal"
)

// path notes what the calls of the journal send and take as the history of one execution grows. A nil one notes nothing.
// Safe for concurrent use.
type path struct {
	mu       sync.Mutex
	messages int             // of the history; guarded by mu
	runs     []map[int]*turn // of each execution: messages ÷ 2 → what was sent meanwhile; guarded by mu

	claims, commits []float64 // milliseconds of each; guarded by mu
}

// turn is what the journal was sent while two messages were added.
type turn struct {
	steps, reads int
	bytes        int64         // of claim, receipt and commit
	took         time.Duration // of claim and commit
}

// begin says that another execution follows. It begins with one message.
func (p *path) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = 1
	p.runs = append(p.runs, map[int]*turn{})
}

// now is the turn under way. mu is held.
func (p *path) now() *turn {
	turns := p.runs[len(p.runs)-1]
	t := turns[p.messages/2]
	if t == nil {
		t = &turn{}
		turns[p.messages/2] = t
	}
	return t
}

func (p *path) claimed(sent *tag) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.now()
	t.bytes += sent.bytes
	t.took += sent.took
	p.claims = append(p.claims, millis(sent.took))
}

func (p *path) recorded(sent *tag) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now().bytes += sent.bytes
}

func (p *path) read() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now().reads++
}

func (p *path) committed(sent *tag, commit *journal.Commit) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.now()
	t.bytes += sent.bytes
	t.took += sent.took
	t.steps += int(commit.Reaches() - commit.Step)
	p.commits = append(p.commits, millis(sent.took))
	p.messages += len(commit.AllMessages())
}

// step is the median of a claim and that of a commit, in milliseconds.
func (p *path) step() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return median(p.claims) + median(p.commits)
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// stretch is a part of a path: figures of one turn.
type stretch struct {
	bytes, millis, steps, reads float64
}

// between is the part from so many messages up to, and without, so many. Time is a median over turns, since one that was
// interrupted says nothing; bytes are a mean.
func (p *path) between(from, to int) stretch {
	p.mu.Lock()
	defer p.mu.Unlock()
	var s stretch
	var took []float64
	for _, turns := range p.runs {
		for n := from / 2; n < to/2; n++ {
			t := turns[n]
			if t == nil {
				continue
			}
			took = append(took, millis(t.took))
			s.bytes += float64(t.bytes)
			s.steps += float64(t.steps)
			s.reads += float64(t.reads)
		}
	}
	if n := float64(len(took)); n > 0 {
		s.bytes, s.steps, s.reads = s.bytes/n, s.steps/n, s.reads/n
	}
	s.millis = median(took)
	return s
}
