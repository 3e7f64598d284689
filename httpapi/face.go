package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

const (
	pathAgents    = "/a2a"
	pathAgentCard = "/.well-known/agent-card.json"
)

// Face is what the agents of others see: cards and endpoints at /a2a, and one card at /.well-known/agent-card.json. *a2a.Face
// satisfies it.
type Face interface {
	// ServeHTTP answers a request whose body was read and whose context carries the visit, and ends when the server drains.
	http.Handler
	// Public reports whether everybody may have the path.
	Public(path string) bool
	// Find refuses a request for what is not there.
	Find(r *http.Request) error
}

func (s *Server) faceRoutes() {
	if s.cfg.Face == nil {
		return
	}
	s.echo.Any(pathAgentCard, s.face)
	s.echo.Any(pathAgents+"/:agent", s.face)
	s.echo.Any(pathAgents+"/:agent"+pathAgentCard, s.face)
}

// shown reports whether the path is one of the face that everybody may have.
func (s *Server) shown(path string) bool {
	return s.cfg.Face != nil && (path == pathAgentCard || under(path, pathAgents)) && s.cfg.Face.Public(path)
}

func (s *Server) face(c echo.Context) error {
	if _, err := parameters(c); err != nil {
		return err
	}
	r := c.Request()
	if err := s.cfg.Face.Find(r); err != nil {
		return err
	}
	ctx, cancel := s.admitted(c)
	defer cancel()
	r = r.WithContext(ctx)
	if r.Method == http.MethodPost {
		release, err := s.hold(c)
		if err != nil {
			return err
		}
		defer release()
		if err := checkType(r); err != nil {
			return err
		}
		body, err := s.unicode(c)
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	c.Response().Before(func() {
		if c.Response().Header().Get(echo.HeaderContentType) == typeStream {
			s.cfg.Observer.Streaming(c.Path(), 1)
			c.Set(streamingKey, true)
		}
	})
	s.cfg.Face.ServeHTTP(c.Response(), r)
	return nil
}

// unicode is a body that holds nothing which JSON's decoder would take for another character.
func (s *Server) unicode(c echo.Context) ([]byte, error) {
	body, err := s.body(c)
	switch {
	case err != nil:
		return nil, err
	case !utf8.Valid(body):
		return nil, invalid(fieldBody, "must be valid UTF-8")
	}
	if at := loneSurrogate(body); at >= 0 {
		return nil, invalid(fieldBody, "must be valid Unicode: there is half of a surrogate pair at byte %d", at)
	}
	return body, nil
}
