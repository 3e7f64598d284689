package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

const pathDashboard = "/dashboard"

// Dashboard is the pages at /dashboard. *dashboard.Pages satisfies it. It sets the security headers of its pages itself.
type Dashboard interface {
	// ServeHTTP answers a request whose context carries the visit.
	http.Handler
	// Public reports whether everybody may have the path.
	Public(path string) bool
	// Refuse answers a request whose sender may not come in.
	Refuse(w http.ResponseWriter, r *http.Request, err error)
}

// dashboard reports whether the request is one for the pages.
func (s *Server) dashboard(c echo.Context) bool {
	return s.cfg.Dashboard != nil && under(c.Request().URL.Path, pathDashboard)
}

// refuse answers a request that may not come in. Pages answer with a page.
func (s *Server) refuse(c echo.Context, err error) error {
	if !s.dashboard(c) {
		return err
	}
	if problem := s.problem(err, c); problem.Code != execution.Internal {
		err = problem
	}
	s.cfg.Dashboard.Refuse(c.Response(), c.Request(), err)
	return nil
}

func (s *Server) pages(c echo.Context) error {
	s.cfg.Dashboard.ServeHTTP(c.Response(), c.Request())
	return nil
}
