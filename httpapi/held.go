package httpapi

import (
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// heldRetryAfter is what a caller is told to wait that holds as many requests open as it may.
const heldRetryAfter = 5 * time.Second

// held counts the requests that callers hold open: streams, waits and requests to published agents. Each takes a connection
// and memory for as long as its client likes, so that one caller could take all there is. Safe for concurrent use; the zero
// value is ready.
type held struct {
	mu   sync.Mutex
	open map[execution.CallerScope]int // guarded by mu; callers with none are not in it
}

// take counts one more for the caller, and is an *execution.APIError when it has most already; 0: no bound.
func (h *held) take(caller execution.CallerScope, most int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if most > 0 && h.open[caller] >= most {
		return execution.NewAPIError(execution.Overloaded,
			"%d requests that stay open (streams, waits) are open here for this caller; no more may be (PAWL_MAX_STREAMS)", most,
		).After(heldRetryAfter)
	}
	if h.open == nil {
		h.open = map[execution.CallerScope]int{}
	}
	h.open[caller]++
	return nil
}

// give counts one less for the caller.
func (h *held) give(caller execution.CallerScope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open[caller]--; h.open[caller] <= 0 {
		delete(h.open, caller)
	}
}

// hold counts a request that stays open, until release is called; an *execution.APIError says that its caller has too many.
func (s *Server) hold(c echo.Context) (release func(), err error) {
	caller := auth.From(c.Request().Context()).Authority.Caller
	if err := s.held.take(caller, s.cfg.MaxStreams); err != nil {
		return nil, err
	}
	return func() { s.held.give(caller) }, nil
}
