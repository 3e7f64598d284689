package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/internal/a2arpc"
)

const (
	userAgent    = "pawl"
	maxRedirects = 5
	idlePerHost  = 16
)

// newPool is the connections of one program.
func newPool() http.RoundTripper {
	pool, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	pool = pool.Clone()
	pool.MaxIdleConnsPerHost = idlePerHost
	pool.MaxResponseHeaderBytes = 64 << 10
	return pool
}

// newClient is the HTTP client of one agent. Whatever is no answer is an error of this package.
func newClient(cfg Config, s settings) *http.Client {
	return &http.Client{
		Transport:     &carrier{settings: s, next: cfg.Transport, maxAnswer: cfg.MaxAnswer, now: cfg.Now},
		CheckRedirect: checkRedirect,
	}
}

// checkRedirect follows only what keeps method and host: another host would be given the credentials.
func checkRedirect(next *http.Request, before []*http.Request) error {
	first := before[0]
	switch {
	case len(before) > maxRedirects:
		return &redirectError{"redirects come without an end"}
	case !sameHost(next.URL, first.URL):
		return &redirectError{"redirects to another host are refused"}
	case next.Method != first.Method:
		return &redirectError{"only the redirects 307 and 308 are followed"}
	case next.URL.User != nil:
		return &redirectError{"redirects to an address with a user are refused"}
	}
	return nil
}

func sameHost(a, b *url.URL) bool { return a.Host == b.Host && a.Scheme == b.Scheme }

// carrier sends requests with the agent's credentials and takes apart what comes back.
type carrier struct {
	settings  settings
	next      http.RoundTripper
	maxAnswer int64
	now       func() time.Time
}

// RoundTrip returns answers of status 200 and redirects; everything else is an error.
func (c *carrier) RoundTrip(request *http.Request) (*http.Response, error) {
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	request = request.Clone(ctx)
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set(a2arpc.HeaderVersion, a2arpc.Spoken)                           // agents of 1.0 answer accordingly
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header)) // nothing where nothing is traced
	if c.settings.name != "" {
		request.Header.Set(c.settings.name, c.settings.prefix+c.settings.secret)
	}
	id := requestID(request)
	response, err := c.next.RoundTrip(request)
	if err != nil {
		return nil, &networkError{sent: sent.Load(), cause: err}
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 && response.Header.Get("Location") != "" {
		return response, nil
	}
	if response.StatusCode != http.StatusOK {
		return nil, c.refusal(response, id)
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind == "text/event-stream" {
		response.Body = newEventLines(&bounded{ReadCloser: response.Body, left: c.maxAnswer}, id)
		return response, nil
	}
	return c.read(response, id)
}

// maxRefusal bounds what is read of an answer that is an error.
const maxRefusal = 64 << 10

// refusal is the error of an answer of another status. Some agents send an error of JSON-RPC with one, which says more than the
// status, unless that is about who asks or when, or the error is one of another request.
func (c *carrier) refusal(response *http.Response, id string) error {
	defer func() { _ = response.Body.Close() }() // what matters was read
	status := response.StatusCode
	failed := &statusError{status: status, retryAfter: local.RetryAfter(response.Header.Get("Retry-After"), c.now())}
	if status < http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden ||
		local.StatusKind(status) == local.Transient {
		return failed
	}
	var answer envelope
	data, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if err != nil || json.Unmarshal(data, &answer) != nil || answer.Error == nil || answer.Error.Code >= 0 {
		return failed
	}
	if err := answer.check(id); errors.Is(err, answer.Error) {
		return err
	}
	return failed
}

// read takes the whole answer in, so that an error of JSON-RPC can be told as it is. id is that of the request; a card has none.
func (c *carrier) read(response *http.Response, id string) (*http.Response, error) {
	body := &bounded{ReadCloser: response.Body, left: c.maxAnswer}
	data, err := io.ReadAll(body)
	_ = body.Close() // it was read, or is given up
	if errors.Is(err, errTooLong) {
		return nil, err
	}
	if err != nil {
		return nil, &networkError{sent: true, cause: err}
	}
	var answer envelope
	if id != "" && json.Unmarshal(data, &answer) == nil {
		if err := answer.check(id); err != nil {
			return nil, err
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(data))
	return response, nil
}

// errTooLong is why an answer was given up.
var errTooLong = errors.New("the answer is too long")

// bounded ends with errTooLong behind so many bytes.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// networkError is a request without an answer.
type networkError struct {
	sent  bool // something may have reached the agent
	cause error
}

func (e *networkError) Error() string { return e.cause.Error() }
func (e *networkError) Unwrap() error { return e.cause }

// statusError is an answer that is none.
type statusError struct {
	status     int
	retryAfter time.Duration
}

func (e *statusError) Error() string { return http.StatusText(e.status) }

// redirectError is a redirect that is not followed.
type redirectError struct{ why string }

func (e *redirectError) Error() string { return e.why }
