package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

func (s *Server) why(c echo.Context) error {
	if err := plain(c); err != nil {
		return err
	}
	id, err := executionID(c)
	if err != nil {
		return err
	}
	why, err := s.link(c).Why(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, why)
}
