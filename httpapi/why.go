package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

func (s *Server) why(c echo.Context) error {
	id, err := addressed(c)
	if err != nil {
		return err
	}
	why, err := s.link(c).Why(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, why)
}
