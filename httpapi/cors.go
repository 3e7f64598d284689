package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// anyOrigin stands for every origin. Cookies are never taken from another origin's pages, whichever it is.
const anyOrigin = "*"

// What pages of other origins may send, and read of an answer.
const (
	sharedMethods = "GET, HEAD, POST, DELETE"
	sharedHeaders = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, If-None-Match, Range"
	exposed       = "Location, Idempotency-Replayed, Retry-After, X-Request-Id, ETag, WWW-Authenticate"
	// preflightSeconds is how long a browser need not ask again.
	preflightSeconds = "600"
)

// shared lets pages of the configured origins read what the API answers, as browsers ask for it. It reports whether the
// request was only the question (a preflight), which carries no credential.
func (s *Server) shared(c echo.Context) (asked bool) {
	r, h := c.Request(), c.Response().Header()
	if len(s.cfg.Origins) == 0 || !under(r.URL.Path, "/v1") && !under(r.URL.Path, pathAgents) && r.URL.Path != pathAgentCard {
		return false
	}
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(s.cfg.Origins, origin) && !slices.Contains(s.cfg.Origins, anyOrigin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if slices.Contains(s.cfg.Origins, anyOrigin) {
		h.Set("Access-Control-Allow-Origin", anyOrigin)
	}
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", exposed)
		return false
	}
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", sharedMethods)
	h.Set("Access-Control-Allow-Headers", sharedHeaders)
	h.Set("Access-Control-Max-Age", preflightSeconds)
	return true
}

// checkOrigin refuses what no browser sends as its origin.
func checkOrigin(origin string) bool {
	if origin == anyOrigin {
		return true
	}
	scheme, host, found := strings.Cut(origin, "://")
	return found && (scheme == "http" || scheme == "https") && host != "" && !strings.ContainsAny(host, "/?# ,*") &&
		strings.ToLower(origin) == origin
}
