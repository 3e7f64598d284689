package mcptool

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/backend/local"
)

const (
	// maxAlone bounds the sessions of one server that serve one call at a time; further calls wait.
	maxAlone = 8
	// maxSpare is how many of them are kept for the next call.
	maxSpare = 2
)

// acquireAlone returns a session that no other call uses, for a tool that is known to ask questions, in at most the list
// timeout. Release it.
func (s *server) acquireAlone(ctx context.Context) (*session, error) {
	patience := time.NewTimer(s.cfg.ListTimeout)
	defer patience.Stop()
	for {
		found, wait, err := s.takeAlone() //nolint:contextcheck // a session outlives who needs it first
		if err != nil || found != nil {
			return found, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ended(ctx)
		case <-patience.C:
			return nil, &local.Error{
				Kind: local.Transient, Code: "mcp_unavailable", Message: s.says(errSlowStart), Err: errSlowStart,
			}
		}
	}
}

// takeAlone is one look: a session, or what to wait for. It opens one when there is none and room for one.
func (s *server) takeAlone() (*session, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, &local.Error{Kind: local.Transient, Code: "mcp_unavailable", Message: s.says(errClosed), Err: errClosed}
	}
	for len(s.spare) > 0 {
		last := s.spare[len(s.spare)-1]
		s.spare = s.spare[:len(s.spare)-1]
		if last.alive() {
			last.users++
			return last, nil, nil
		}
		s.alone--
	}
	if wait := time.Until(s.notUntil); s.failures > 0 && wait > 0 {
		return nil, nil, s.notYet(wait)
	}
	if s.freed == nil {
		s.freed = make(chan struct{})
	}
	if s.alone < maxAlone && s.openingAlone == 0 {
		s.beginAlone()
	}
	return nil, s.freed, nil
}

// beginAlone opens a session in the background; whoever waits for freed takes it. s.mu is held.
func (s *server) beginAlone() {
	s.alone++
	s.openingAlone++
	legacy := s.legacy
	s.work.Go(func() {
		opened, err := s.connect(legacy)
		s.mu.Lock()
		defer s.mu.Unlock()
		defer s.free()
		s.openingAlone--
		switch {
		case err != nil:
			s.alone--
			s.failed(err)
		case s.closed:
			s.alone--
			s.work.Go(opened.close)
		default:
			opened.alone = true
			s.failures, s.last = 0, nil
			s.spare = append(s.spare, opened)
		}
	})
}

// giveBack keeps a session for the next call, or ends it. s.mu is held.
func (s *server) giveBack(used *session) {
	defer s.free()
	if used.alive() && !used.retired && !s.closed && len(s.spare) < maxSpare {
		s.spare = append(s.spare, used)
		return
	}
	s.alone--
	if !s.closed {
		s.work.Go(used.close)
	}
}

// free wakes those who wait for a session of their own. s.mu is held.
func (s *server) free() {
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}
