package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

const (
	pathLive       = "/livez"
	pathReady      = "/readyz"
	pathMonitoring = "/monitoring"
)

// authorityKey is where guard leaves the caller's authority.
const authorityKey = "authority"

// guard sets the security headers and lets nobody in who may not.
func (s *Server) guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		secure(c)
		authority, err := s.authority(c.Request())
		if err != nil {
			return err
		}
		c.Set(authorityKey, authority)
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

// authority names the caller. Probes need none.
func (s *Server) authority(r *http.Request) (execution.Authority, error) {
	if s.cfg.Authenticate == nil {
		return execution.LocalAuthority(), local(r)
	}
	if r.URL.Path == pathLive || r.URL.Path == pathReady {
		return execution.Authority{}, nil
	}
	return s.cfg.Authenticate(r)
}

// local admits requests that a program on this machine, or a page that this server served, has sent. A name other than
// a loopback one is how a page on the internet reaches a local server (DNS rebinding).
func local(r *http.Request) error {
	if !loopback(r.Host) {
		return execution.NewAPIError(execution.Forbidden,
			"without API keys only loopback names are served, like 127.0.0.1 or localhost").In("Host")
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return execution.NewAPIError(execution.Forbidden,
				"without API keys requests from pages of another origin are refused").In("Origin")
		}
	}
	return nil
}

func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// link is the runtime as the request's caller sees it.
func (s *Server) link(c echo.Context) link.RuntimeLink {
	authority, _ := c.Get(authorityKey).(execution.Authority) // none has no role and may do nothing
	return s.cfg.Link.As(authority)
}
