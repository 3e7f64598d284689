package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

// remove deletes an execution that has ended.
func (s *Server) remove(c echo.Context) error {
	id, err := addressed(c)
	if err != nil {
		return err
	}
	if err := s.decodeOptional(c, &struct{}{}); err != nil {
		return err
	}
	if err := s.link(c).Delete(c.Request().Context(), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// bulk steers the executions that pass a filter.
func (s *Server) bulk(c echo.Context) error {
	if err := plain(c); err != nil {
		return err
	}
	var request execution.BulkRequest
	if err := s.decode(c, &request); err != nil {
		return err
	}
	result, err := s.link(c).Bulk(c.Request().Context(), request)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, result)
}
