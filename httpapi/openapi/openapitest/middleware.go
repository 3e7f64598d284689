package openapitest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// shared is the Checker of the whole test program: to make one takes long.
var shared = sync.OnceValues(New)

// Shared is the Checker of the whole test program.
func Shared(tb testing.TB) *Checker {
	tb.Helper()
	checker, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return checker
}

// Handler is the handler, held against the document: what is wrong with an exchange fails the test. See Checker.Handler.
func Handler(tb testing.TB, next http.Handler) http.Handler {
	tb.Helper()
	return Shared(tb).Handler(tb, next)
}

// Handler is the handler, held against the document: what is wrong with an exchange fails the test. Pages of their own, such as
// the monitoring, are passed over, and so is what a browser asks before it lets a page send a request.
func (c *Checker) Handler(tb testing.TB, next http.Handler) http.Handler {
	tb.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pass := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
		for _, page := range []string{"/monitoring", "/dashboard"} {
			pass = pass || strings.HasPrefix(r.URL.Path, page)
		}
		if pass {
			next.ServeHTTP(w, r)
			return
		}
		var sent bytes.Buffer
		if r.Body != nil {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(r.Body, &sent), r.Body}
		}
		capture := &capture{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(capture, r)
		status, header, body := capture.got()
		if err := c.Check(Exchange{Request: r, Sent: sent.Bytes(), Status: status, Header: header, Body: body}); err != nil {
			tb.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
	})
}

// capture keeps what a handler answers.
type capture struct {
	http.ResponseWriter
	once   sync.Once
	status int
	header http.Header
	body   bytes.Buffer
}

func (c *capture) WriteHeader(status int) {
	c.once.Do(func() { c.status, c.header = status, c.Header().Clone() })
	c.ResponseWriter.WriteHeader(status)
}

func (c *capture) Write(data []byte) (int, error) {
	c.once.Do(func() { c.header = c.Header().Clone() })
	c.body.Write(data)
	return c.ResponseWriter.Write(data)
}

func (c *capture) got() (status int, header http.Header, body []byte) {
	c.once.Do(func() { c.header = c.Header().Clone() })
	return c.status, c.header, c.body.Bytes()
}

// Unwrap lets an http.ResponseController find what the server's writer can.
func (c *capture) Unwrap() http.ResponseWriter { return c.ResponseWriter }
