package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

func (s *Server) fork(c echo.Context) error {
	if err := plain(c); err != nil {
		return err
	}
	key, err := idempotencyKey(c.Request())
	if err != nil {
		return err
	}
	id, err := executionID(c)
	if err != nil {
		return err
	}
	var request execution.ForkRequest
	if err := s.decode(c, &request); err != nil {
		return err
	}
	created, err := s.link(c).Fork(c.Request().Context(), id, key, request)
	if err != nil {
		return err
	}
	return submitted(c, created)
}

// submitted answers a submission: 202 when it made an execution, 200 when it had made that before.
func submitted(c echo.Context, created execution.Created) error {
	header := c.Response().Header()
	header.Set("Location", "/v1/executions/"+string(created.View.ID))
	if created.Replayed {
		header.Set("Idempotency-Replayed", "true")
		return c.JSON(http.StatusOK, created.View)
	}
	return c.JSON(http.StatusAccepted, created.View)
}
