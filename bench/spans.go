package bench

import (
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// spans times executions from their first claim to their terminal commit. Safe for concurrent use.
type spans struct {
	mu      sync.Mutex
	began   map[execution.ID]time.Time // guarded by mu
	samples []float64                  // milliseconds; guarded by mu
}

func newSpans() *spans { return &spans{began: map[execution.ID]time.Time{}} }

func (s *spans) begin(id execution.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began[id] = time.Now()
}

func (s *spans) end(id execution.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.began[id]
	if !ok {
		return // it began before the measurement
	}
	delete(s.began, id)
	s.samples = append(s.samples, millis(time.Since(at)))
}

// reset forgets what has begun, and what was measured.
func (s *spans) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.began)
	s.samples = nil
}

func (s *spans) read() []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]float64(nil), s.samples...)
}
