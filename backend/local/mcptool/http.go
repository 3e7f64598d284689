package mcptool

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// tripKey is the key of a context's *trip.
type tripKey struct{}

// trip notes how far the request of a call came.
type trip struct {
	mu         sync.Mutex
	sent       bool // guarded by mu; it got a connection
	status     int  // guarded by mu; of the last answer
	retryAfter time.Duration
	refused    error // guarded by mu; why there was no token
}

func withTrip(ctx context.Context) (context.Context, *trip) {
	t := &trip{}
	return context.WithValue(ctx, tripKey{}, t), t
}

func (t *trip) reached() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent
}

func (t *trip) answer() (status int, retryAfter time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status, t.retryAfter
}

func (t *trip) connected(httptrace.GotConnInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = true
}

func (t *trip) refuse(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refused = err
}

func (t *trip) tokenless() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

func (t *trip) note(res *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status, t.retryAfter = res.StatusCode, local.RetryAfter(res.Header.Get("Retry-After"), time.Now())
}

// sender sends the requests of one session: with the declared headers, to the declared address only, until it ends.
type sender struct {
	header http.Header
	own    *claim // nil: the headers say all
	base   http.RoundTripper
	ended  context.Context
}

// RoundTrip sends one request.
func (t *sender) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(t.ended, cancel) //nolint:contextcheck // the request's context is canceled with the session's
	on, _ := ctx.Value(tripKey{}).(*trip)
	if on != nil && req.Method == http.MethodPost {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: on.connected})
	}
	sent := req.Clone(ctx)
	for name, values := range t.header {
		if _, own := sent.Header[name]; !own { // the protocol's headers are the SDK's
			sent.Header[name] = values
		}
	}
	sent.Header.Set("User-Agent", "pawl")
	res, err := t.send(sent)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	if on != nil && req.Method == http.MethodPost {
		on.note(res)
	}
	res.Body = &watchedBody{ReadCloser: bounded(res), done: func() { stop(); cancel() }}
	return res, nil
}

// errLongAnswer is the end of an answer that is longer than a message may be.
var errLongAnswer = fmt.Errorf("it answered with more than %d bytes", maxMessage)

// bounded is the body of an answer up to the length of a message: the SDK bounds the events of a stream, and reads whatever else
// comes as one piece.
func bounded(res *http.Response) io.ReadCloser {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err == nil && kind == "text/event-stream" && res.StatusCode < 300 {
		return res.Body
	}
	return &boundedBody{ReadCloser: res.Body, left: maxMessage}
}

// boundedBody is a body that fails behind so many bytes.
type boundedBody struct {
	io.ReadCloser
	left int
}

// Read reads up to one byte more than there may be: that it is there says that the body goes on.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		return b.left, errLongAnswer
	}
	b.left -= n
	return n, err
}

// send sends a request with the token that is good now, and once more with another one when the server does not take it: a 401
// says that nothing was done.
func (t *sender) send(req *http.Request) (*http.Response, error) {
	if t.own == nil {
		return t.base.RoundTrip(req)
	}
	defer t.own.farewells.sent(req)
	token, err := t.own.tokens.now(req.Context(), req.Method == http.MethodDelete)
	if err != nil {
		return nil, tokenless(req, err)
	}
	res, err := t.sendAs(req, token)
	if err != nil || res.StatusCode != http.StatusUnauthorized || req.Method == http.MethodDelete {
		return res, err
	}
	again, ok := resendable(req)
	if !ok {
		return res, nil
	}
	next, err := t.own.tokens.instead(req.Context(), token)
	if err == nil && next.Reveal() == token.Reveal() {
		return res, nil
	}
	_ = res.Body.Close() // it says no more than its status
	if err != nil {
		return nil, tokenless(req, err)
	}
	return t.sendAs(again, next)
}

func (t *sender) sendAs(req *http.Request, token execution.Credential) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	return t.base.RoundTrip(req)
}

// tokenless notes why the request has no token.
func tokenless(req *http.Request, err error) error {
	if on, ok := req.Context().Value(tripKey{}).(*trip); ok {
		on.refuse(err)
	}
	return err
}

// resendable is the request with its body anew; false when that cannot be had.
func resendable(req *http.Request) (*http.Request, bool) {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again.Body = body
	return again, true
}

// overHTTP is the transport to a server behind an address.
func overHTTP(at address, own *claim) (mcp.Transport, func()) {
	ended, end := context.WithCancel(context.Background())
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	base := &http.Transport{
		Proxy:                  nil, // the agent file alone says where a call goes
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	header := http.Header{}
	for name, value := range at.Headers {
		header.Set(name, value)
	}
	client := &http.Client{
		Transport: &sender{header: header, own: own, base: base, ended: ended},
		// Headers and arguments are for the declared host alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &mcp.StreamableClientTransport{Endpoint: at.URL, HTTPClient: client, MaxEventSize: maxMessage}, func() {
		end()
		base.CloseIdleConnections()
	}
}
