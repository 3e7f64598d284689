package auth

import (
	"net/http"
	"net/url"
	"strings"
)

// SameOrigin reports whether a browser says that a page of this very origin has sent the request. A browser says so of every
// request that changes something, so whatever says nothing is not taken for one.
func SameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && origin.Host != "" && strings.EqualFold(origin.Host, r.Host)
}

// Unsafe reports whether the request may change something.
func Unsafe(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// OverTLS reports whether the browser's side of the connection is encrypted, here or at a proxy that says so.
func OverTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// originOf is the origin that the browser asked, as far as this process is told.
func originOf(r *http.Request) string {
	origin := url.URL{Scheme: "http", Host: r.Host}
	if OverTLS(r) {
		origin.Scheme = "https"
	}
	return origin.String()
}
