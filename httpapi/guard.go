package httpapi

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

const (
	pathLive       = "/livez"
	pathReady      = "/readyz"
	pathMonitoring = "/monitoring"
	pathMetrics    = "/metrics"
	pathEvents     = "/v1/executions/:id/events"
)

// guard sets the security headers and lets nobody in who may not.
func (s *Server) guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		secure(c)
		if s.shared(c) {
			return c.NoContent(http.StatusNoContent)
		}
		visit, err := s.enter(c)
		if err != nil {
			return s.refuse(c, err)
		}
		c.SetRequest(c.Request().WithContext(auth.With(c.Request().Context(), visit)))
		return next(c)
	}
}

// secure sets the headers that keep answers out of caches, frames and other types. The monitoring page brings scripts
// of its own.
func secure(c echo.Context) {
	h := c.Response().Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	if !under(c.Request().URL.Path, pathMonitoring) {
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
	}
}

func under(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// public are the paths that everybody may have: probes, and what says how the API is spoken to.
func public(path string) bool {
	switch path {
	case pathLive, pathReady, pathDocument:
		return true
	default:
		return under(path, pathReference)
	}
}

// enter names the caller.
func (s *Server) enter(c echo.Context) (*auth.Visit, error) {
	r := c.Request()
	if public(r.URL.Path) || s.shown(r.URL.Path) || s.dashboard(c) && s.cfg.Dashboard.Public(r.URL.Path) {
		return &auth.Visit{}, s.cfg.Access.Admit(r)
	}
	if r.Method == http.MethodGet && c.Path() == pathEvents && r.URL.Query().Has(paramToken) {
		return s.enterByToken(c)
	}
	return s.cfg.Access.Enter(r)
}

// challenge says how to come in.
func challenge(c echo.Context) {
	text := `Bearer realm="pawl"`
	if len(c.Request().Header.Values("Authorization")) > 0 {
		text += `, error="invalid_token"`
	}
	c.Response().Header().Set(echo.HeaderWWWAuthenticate, text)
}

// monitoring serves the queues' pages: to whoever oversees the installation, not to its tenants.
func (s *Server) monitoring(c echo.Context) error {
	visit := auth.From(c.Request().Context())
	switch {
	case !visit.Oversees():
		return execution.NewAPIError(execution.Forbidden,
			"the queues are those of all tenants: they are shown to callers of tenant %s", execution.AllTenants)
	case auth.Unsafe(c.Request()) && visit.Authority.Role != execution.OperateRole:
		return execution.NewAPIError(execution.Forbidden, "a caller of role %s changes no queue", visit.Authority.Role)
	}
	s.cfg.Monitoring.ServeHTTP(c.Response(), c.Request())
	return nil
}

// link is the runtime as the request's caller sees it.
func (s *Server) link(c echo.Context) link.RuntimeLink {
	return s.cfg.Link.As(auth.From(c.Request().Context()).Authority) // none has no role and may do nothing
}
