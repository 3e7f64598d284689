package harness

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/redistest"
)

// processes are what a stack has started.
type processes struct {
	server *redistest.Server // nil when it is not the stack's

	mu  sync.Mutex
	all []*Process
}

func (p *processes) add(process *Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, process)
}

// starved is how long all of them, and this test program, have waited for a processor.
func (p *processes) starved() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := starved(os.Getpid())
	if p.server != nil {
		total += starved(p.server.PID())
	}
	for _, process := range p.all {
		if process.Running() {
			total += starved(process.PID())
		}
	}
	return total
}

// Span measures what a promise bounds in time. A promise holds for a machine that gives its processes processors: the time
// that those of the stack stood ready to run and did not get one is added to the bound, so that a test says the same on a
// quiet machine and on a busy one.
type Span struct {
	processes *processes
	before    time.Duration
}

// Span begins to measure.
func (s *Stack) Span() *Span {
	return &Span{processes: s.processes, before: s.processes.starved()}
}

// Within fails the test unless took, which has just ended, is within the bound.
func (s *Span) Within(tb testing.TB, took, bound time.Duration, what string) {
	tb.Helper()
	if took <= bound {
		return
	}
	// What ended meanwhile is no longer counted.
	waited := max(0, s.processes.starved()-s.before)
	if took > bound+waited {
		tb.Fatalf("%s took %v; the bound is %v, and %v more for want of a processor", what, took, bound, waited)
	}
	tb.Logf("%s took %v, more than %v: for %v the processes had no processor", what, took, bound, waited)
}
