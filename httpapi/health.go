package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

// readyTimeout bounds how long /readyz asks.
const readyTimeout = 2 * time.Second

// live says that the process answers.
func (s *Server) live(c echo.Context) error {
	return c.JSON(http.StatusOK, struct {
		Status string `json:"status"`
	}{"live"})
}

// ready says whether work can be taken, and how durable that is; what Redis that stands on, to those who may come in.
func (s *Server) ready(c echo.Context) error {
	if s.stopping.Err() != nil {
		return execution.NewAPIError(execution.Unavailable, "the server is shutting down")
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTimeout)
	defer cancel()
	readiness, err := s.cfg.Ready(ctx)
	if err != nil {
		return execution.NewAPIError(execution.Unavailable, "Redis cannot be reached, or takes no writes").After(time.Second).Because(err)
	}
	if _, err := s.cfg.Access.Enter(c.Request()); err != nil {
		readiness.Redis = nil
	}
	return c.JSON(http.StatusOK, struct {
		Status  string `json:"status"`
		Version string `json:"version"`
		Readiness
	}{"ready", s.cfg.Version, readiness})
}
