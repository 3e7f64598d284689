package mcptool

import (
	"context"
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
			return func(seen manner) { s.note(tool, seen) }
		}
		select {
		case <-wait:
			continue
		case <-ctx.Done():
		case <-patience.C:
		}
		return func(seen manner) { s.note(tool, seen) }
	}
}

// begins says whether the caller has the try of a tool, or what it must wait for; neither when there is no need to.
func (s *server) begins(tool string) (wait chan struct{}, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.mayAsk || s.manners[tool] != unknownManner:
		return nil, false
	case s.trying != nil:
		return s.trying, false
	}
	s.trying = make(chan struct{})
	return s.trying, true
}

// tried ends a try.
func (s *server) tried(own chan struct{}, tool string, seen manner) {
	s.note(tool, seen)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trying == own {
		s.trying = nil
		close(own)
	}
}

// note keeps what was seen of a tool. One that has asked may ask again.
func (s *server) note(tool string, seen manner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(tool, seen)
}

func (s *server) noteLocked(tool string, seen manner) {
	if seen == unknownManner || s.manners[tool] == asking {
		return
	}
	if s.manners == nil {
		s.manners = map[string]manner{}
	}
	s.manners[tool] = seen
}

// asksQuestions reports whether a tool is known to ask.
func (s *server) asksQuestions(tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.manners[tool] == asking
}

// learn notes that tools ask questions: from now on their calls have sessions of their own.
func (s *server) learn(tools []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tool := range tools {
		s.noteLocked(tool, asking)
	}
}
