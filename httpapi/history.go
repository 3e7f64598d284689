package httpapi

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

func (s *Server) messages(c echo.Context) error {
	id, from, size, err := historyPage(c)
	if err != nil {
		return err
	}
	page, err := s.link(c).Messages(c.Request().Context(), id, from, size)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, page)
}

func (s *Server) checkpoints(c echo.Context) error {
	id, from, size, err := historyPage(c)
	if err != nil {
		return err
	}
	page, err := s.link(c).Checkpoints(c.Request().Context(), id, execution.Step(from), size)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, page)
}

// historyPage reads which page of which execution is asked for.
func historyPage(c echo.Context) (id execution.ID, from, size int, err error) {
	if _, err = negotiate(c.Request(), typeJSON); err != nil {
		return id, 0, 0, err
	}
	if id, err = executionID(c); err != nil {
		return id, 0, 0, err
	}
	query, err := parameters(c, "from", "limit")
	if err != nil {
		return id, 0, 0, err
	}
	if query.Has("from") {
		if from, err = strconv.Atoi(query.Get("from")); err != nil || from < 0 {
			return id, 0, 0, invalid("from", "must be a number, 0 or above")
		}
	}
	size, err = limit(query)
	return id, from, size, err
}
