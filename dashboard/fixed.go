package dashboard

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// unwanted are links of the page to another host, its fonts, without which the browser takes its own; and to its manifest,
// which browsers ask for without the session's cookie, in vain.
var unwanted = regexp.MustCompile(`<link\b[^>]*(?:\bhref="(?:https?:)?//[^"]*"|\brel="manifest")[^>]*>`)

// fixed corrects what asynqmon answers: the type of pictures, how long files may be kept (the names of those under
// /static/ carry a hash of their content), and what the page would load from other hosts. It is used by one goroutine.
type fixed struct {
	http.ResponseWriter
	path   string
	more   additions
	begun  bool
	status int
	page   *bytes.Buffer // the page, held back until it is whole; nil for everything else
}

// WriteHeader begins the answer.
func (f *fixed) WriteHeader(status int) {
	if !f.begun {
		f.begun, f.status = true, status
		f.fix(status)
	}
	if f.page == nil {
		f.ResponseWriter.WriteHeader(status)
	}
}

// Write goes on with the answer.
func (f *fixed) Write(data []byte) (int, error) {
	if !f.begun {
		f.WriteHeader(http.StatusOK)
	}
	if f.page != nil {
		return f.page.Write(data)
	}
	return f.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (f *fixed) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// finish sends the page.
func (f *fixed) finish() {
	if f.page != nil {
		page := f.more.addTo(unwanted.ReplaceAllString(f.page.String(), ""))
		f.Header().Set("Content-Security-Policy", policyOf(page))
		f.ResponseWriter.WriteHeader(f.status)
		_, _ = io.WriteString(f.ResponseWriter, page) // a browser that has gone needs no page
	}
}

func (f *fixed) fix(status int) {
	header := f.Header()
	kind := header.Get("Content-Type")
	if kind == "" || strings.HasPrefix(kind, "text/html") { // the page, which asynqmon gives for every unknown path, or its API
		header.Set("Cache-Control", "no-cache")
		if !strings.HasPrefix(f.path, "/api/") {
			header.Set("Content-Type", "text/html; charset=utf-8")
			f.page = &bytes.Buffer{}
		}
		return
	}
	if strings.HasSuffix(f.path, ".svg") {
		header.Set("Content-Type", "image/svg+xml")
	}
	if strings.HasPrefix(f.path, "/static/") && status == http.StatusOK {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
}
