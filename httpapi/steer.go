package httpapi

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

func (s *Server) cancel(c echo.Context) error {
	return s.steer(c, &struct{}{}, link.RuntimeLink.Cancel)
}

func (s *Server) pause(c echo.Context) error { return s.steer(c, &struct{}{}, link.RuntimeLink.Pause) }

// release takes an execution from its holder.
func (s *Server) release(c echo.Context) error {
	return s.steer(c, &struct{}{}, link.RuntimeLink.Release)
}

func (s *Server) resume(c echo.Context) error {
	var request execution.ResumeRequest
	return s.steer(c, &request, func(l link.RuntimeLink, ctx context.Context, id execution.ID) (execution.Steered, error) {
		return l.Resume(ctx, id, request)
	})
}

// steer answers a command: 202 when something changed, 200 when nothing did. body is what the request's body becomes, if
// it has one.
func (s *Server) steer(
	c echo.Context, body any,
	command func(link.RuntimeLink, context.Context, execution.ID) (execution.Steered, error),
) error {
	id, err := addressed(c)
	if err != nil {
		return err
	}
	if err := s.decodeOptional(c, body); err != nil {
		return err
	}
	steered, err := command(s.link(c), c.Request().Context(), id)
	if err != nil {
		return err
	}
	if steered.Changed {
		return c.JSON(http.StatusAccepted, steered.View)
	}
	return c.JSON(http.StatusOK, steered.View)
}
