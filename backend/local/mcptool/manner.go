package mcptool

import (
	"context"
	"sync"
	"time"
)

// maxTryOut is how long a first call waits for the first call of another tool to end.
const maxTryOut = 3 * time.Second

// manner is what is known of how a tool behaves.
type manner int

const (
	unknownManner manner = iota // it has not answered yet
	quiet                       // it has answered without asking
	asking                      // it has asked in the middle of a call
)

// habits are how the tools of an address behave, by the server's names of them. All who reach it share what was seen: it is the
// program's knowledge and nobody's secret.
type habits struct {
	mu     sync.Mutex
	byTool map[string]manner // guarded by mu
}

func (h *habits) of(tool string) manner {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byTool[tool]
}

// note keeps what was seen of tools. One that has asked may ask again.
func (h *habits) note(seen manner, tools ...string) {
	if seen == unknownManner {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, tool := range tools {
		if h.byTool[tool] == asking {
			continue
		}
		if h.byTool == nil {
			h.byTool = map[string]manner{}
		}
		h.byTool[tool] = seen
	}
}

// tryOut lets the tools that nobody knows yet make their first calls one after the other, each for a while at most: two
// calls that ask at once could not be told apart. done ends the try, with what was seen.
func (s *server) tryOut(ctx context.Context, tool string) (done func(seen manner)) {
	patience := time.NewTimer(min(maxTryOut, s.cfg.ListTimeout))
	defer patience.Stop()
	for {
		wait, mine := s.begins(tool)
		switch {
		case mine:
			return func(seen manner) { s.tried(wait, tool, seen) }
		case wait == nil:
			return func(seen manner) { s.habits.note(seen, tool) }
		}
		select {
		case <-wait:
			continue
		case <-ctx.Done():
		case <-patience.C:
		}
		return func(seen manner) { s.habits.note(seen, tool) }
	}
}

// begins says whether the caller has the try of a tool, or what it must wait for; neither when there is no need to.
func (s *server) begins(tool string) (wait chan struct{}, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.mayAsk || s.habits.of(tool) != unknownManner:
		return nil, false
	case s.trying != nil:
		return s.trying, false
	}
	s.trying = make(chan struct{})
	return s.trying, true
}

// tried ends a try.
func (s *server) tried(own chan struct{}, tool string, seen manner) {
	s.habits.note(seen, tool)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trying == own {
		s.trying = nil
		close(own)
	}
}
