package httpapi

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/httpapi/openapi"
)

const (
	pathDocument  = "/openapi.json"
	pathReference = "/docs"
)

// document is the API's own description.
func (s *Server) document(c echo.Context) error {
	return s.described(c, func(d *openapi.Document) openapi.File { return d.JSON })
}

// reference is the description as a page. Where calls need a key its commands show one. It loads its style from here and nothing from anywhere else.
func (s *Server) reference(c echo.Context) error {
	c.Response().Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	visit, err := s.cfg.Access.Enter(c.Request())
	keyed := err != nil || !visit.Keyless()
	return s.described(c, func(d *openapi.Document) openapi.File {
		if keyed {
			return d.KeyedPage
		}
		return d.Page
	})
}

func (s *Server) referenceStyle(c echo.Context) error {
	return s.described(c, func(d *openapi.Document) openapi.File { return d.Style })
}

// described answers with a file of the description. Its hash is its entity tag.
func (s *Server) described(c echo.Context, pick func(*openapi.Document) openapi.File) error {
	description, err := s.description()
	if err != nil {
		return err
	}
	file := pick(description)
	header := c.Response().Header()
	header.Set("ETag", file.ETag)
	header.Set("Cache-Control", "no-cache") // it may be kept, and is asked after
	if holds(c.Request().Header.Get("If-None-Match"), file.ETag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, file.Type, file.Content)
}

// holds reports whether an If-None-Match names the entity tag.
func holds(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if part = strings.TrimSpace(part); part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}
