package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

// toolCalls answers with a page of what the ledger holds.
func (s *Server) toolCalls(c echo.Context) error {
	if _, err := negotiate(c.Request(), typeJSON); err != nil {
		return err
	}
	id, err := executionID(c)
	if err != nil {
		return err
	}
	query, err := parameters(c, "after", "limit")
	if err != nil {
		return err
	}
	var after execution.Sequence
	if query.Has("after") {
		if after, err = sequence("after", query.Get("after")); err != nil {
			return err
		}
	}
	size, err := limit(query)
	if err != nil {
		return err
	}
	page, err := s.link(c).ToolCalls(c.Request().Context(), id, after, size)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, page)
}
