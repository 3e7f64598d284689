package httpapi

import (
	"bytes"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// blob answers with a stored result: JSON, which never changes, so that its hash is its entity tag. Ranges are served.
func (s *Server) blob(c echo.Context) error {
	if err := plain(c); err != nil {
		return err
	}
	id, err := executionID(c)
	if err != nil {
		return err
	}
	hash := c.Param("hash")
	content, err := s.link(c).Blob(c.Request().Context(), id, hash)
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, typeJSON)
	header.Set("ETag", `"`+hash+`"`)
	header.Set("Cache-Control", "private, no-cache") // who asks again is to be the same caller, and gets 304
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(content))
	return nil
}
