package httpapi

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// Observer is told how requests went. Its methods are called by many goroutines and return at once.
type Observer interface {
	// Answered tells that a request was answered. route is the pattern that it matched; empty: none.
	Answered(method, route string, status int, took time.Duration)
	// Streaming tells that so many clients more, or fewer, read a stream.
	Streaming(route string, clients int)
}

// streamingKey marks a request that is answered by a stream.
const streamingKey = "streaming"

// nobody observes nothing.
type nobody struct{}

func (nobody) Answered(string, string, int, time.Duration) {}
func (nobody) Streaming(string, int)                       {}

// metrics serves what was measured to whoever may look at what is nobody's alone.
func (s *Server) metrics(c echo.Context) error {
	if !auth.From(c.Request().Context()).Oversees() {
		return execution.NewAPIError(execution.Forbidden, "metrics are for callers of all tenants, of role read or operate")
	}
	s.cfg.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}
