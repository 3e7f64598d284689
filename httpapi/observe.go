package httpapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/link"
)

// requestIDHeader names a request in the answer and in the logs.
const requestIDHeader = "X-Request-Id"

// observe names the request, bounds its body and its writes, turns a panic into an error, and logs how it went, without bodies.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		c.Response().Header().Set(requestIDHeader, "req_"+rand.Text())
		// Each request sets its own deadlines, and a stream one for each write. Not every connection has them. Also a body
		// that nobody wants is bounded: net/http discards it before it answers.
		control := http.NewResponseController(c.Response())
		if c.Request().ContentLength != 0 {
			_ = control.SetReadDeadline(start.Add(s.cfg.BodyTimeout))
		}
		_ = control.SetWriteDeadline(start.Add(link.MaxWait + s.cfg.WriteTimeout))
		defer s.trace(c)()
		defer s.record(c, start) // also of an answer that is cut off by a panic
		if err := caught(next, c); err != nil {
			c.Error(err)
		}
		return nil
	}
}

// errPanicked is the cause of an answer that a panic cut off.
var errPanicked = errors.New("panicked")

func caught(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case http.ErrAbortHandler:
			panic(cause) // the server's own way to cut a connection
		default:
			err = fmt.Errorf("%w: %v\n%s", errPanicked, cause, debug.Stack())
		}
	}()
	return next(c)
}

// record logs how a request went: at debug, as its client knows. A fault is an error that is logged once, here or where it
// was answered.
func (s *Server) record(c echo.Context, start time.Time) {
	r, answer := c.Request(), c.Response()
	route := c.Path()
	if c.Get(streamingKey) != nil {
		s.cfg.Observer.Streaming(route, -1)
	}
	s.cfg.Observer.Answered(r.Method, route, answer.Status, time.Since(start))
	level := slog.LevelDebug
	if answer.Status >= http.StatusInternalServerError && c.Get(reportedKey) == nil {
		level = slog.LevelError
	}
	s.cfg.Logger.LogAttrs(r.Context(), level, "request",
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", answer.Status),
		slog.Int64("bytes", answer.Size), slog.Duration("took", time.Since(start)),
		slog.String("request", answer.Header().Get(requestIDHeader)))
}
