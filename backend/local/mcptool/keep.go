package mcptool

import (
	"time"

	"github.com/pawl-run/pawl/backend/local"
)

// maxIdle bounds the servers that wait for the next claim of their executions; one more ends with its claim.
const maxIdle = 256

// idle is a server between two claims of its execution, which follow each other at once. Nothing is sent to it meanwhile but what
// the server itself asks for, with the last token.
type idle struct {
	server *server
	over   *time.Timer
}

// keepName names what a claim may take over from another one: of the same execution and lease, for the same tool of the agent's
// file. Empty: nothing.
func (d *DelegatedSet) keepName(claim local.Claim) string {
	if claim.Name == "" {
		return ""
	}
	return d.declared.Name + " " + d.at.key() + " " + claim.Name
}

// keep keeps a server whose claim is over for the next one of that name. It returns false when there is nothing to keep, or no
// room.
func (s *Servers) keep(name string, own *server) bool {
	if name == "" || !own.quiet() {
		return false
	}
	own.own.tokens.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, lent := s.lent[own]; !lent || s.closed || s.idle[name] != nil || len(s.idle) >= maxIdle {
		return false
	}
	waiting := &idle{server: own}
	waiting.over = time.AfterFunc(s.cfg.KeepFor, func() {
		if s.forget(name, waiting) {
			s.take(own)
		}
	})
	s.idle[name] = waiting
	return true
}

// forget takes a server out of those that wait. It returns false when somebody else did.
func (s *Servers) forget(name string, waiting *idle) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle[name] != waiting {
		return false
	}
	delete(s.idle, name)
	return true
}

// kept is the server that waits under the name, which is the caller's from now on; nil when there is none.
func (s *Servers) kept(name string) *server {
	s.mu.Lock()
	waiting := s.idle[name]
	delete(s.idle, name)
	closed := s.closed
	s.mu.Unlock()
	if waiting == nil {
		return nil
	}
	waiting.over.Stop() // if it runs already, it finds nothing
	if closed || !waiting.server.quiet() {
		s.take(waiting.server)
		return nil
	}
	return waiting.server
}

// quiet reports whether the server has a session, and nobody uses any or waits for one.
func (s *server) quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.live {
		if one.users > 0 {
			return false
		}
	}
	return !s.closed && s.current != nil && s.current.alive() && s.failures == 0 && s.opening == nil && s.openingAlone == 0
}
