package httptool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

const (
	userAgent    = "pawl"
	maxRedirects = 5
)

// request is one POST of JSON.
type request struct {
	url            string
	body           []byte
	idempotencyKey string // none when empty
	bearer         execution.Credential
}

// reply is what a server answered.
type reply struct {
	status     int
	retryAfter string
	body       []byte
	tooLong    bool  // the body is longer than allowed; body is empty
	refused    error // why a redirect was not followed
	delegated  bool  // the request carried a token of a delegation
}

// sendError is a request without an answer.
type sendError struct {
	sent     bool // something may have reached the server
	canceled bool // the caller's context ended
	cause    error
}

func (e *sendError) Error() string { return e.cause.Error() }

// send posts r and follows redirects that keep method and host. The tool's timeout bounds all of it.
func (t *Tool) send(ctx context.Context, r request) (*reply, *sendError) {
	callCtx := ctx
	if t.declared.Timeout > 0 {
		var cancel context.CancelFunc
		callCtx, cancel = context.WithTimeoutCause(ctx, t.declared.Timeout, errTimeout)
		defer cancel()
	}
	for range maxRedirects {
		answered, next, err := t.post(callCtx, r)
		if err != nil {
			err.cause = plainCause(ctx, callCtx, err.cause)
			err.canceled = ctx.Err() != nil
			return nil, err
		}
		if next == "" {
			return answered, nil
		}
		r.url = next
	}
	return &reply{refused: errors.New("redirects come without an end")}, nil
}

// plainCause is what to tell of an error: that of the context that has ended, if one has.
func plainCause(ctx, callCtx context.Context, err error) error {
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
			return fmt.Errorf("%w: %w", ctx.Err(), cause)
		}
		return ctx.Err()
	}
	if callCtx.Err() != nil {
		return context.Cause(callCtx)
	}
	return err
}

// post sends one request. next is set when the answer is a redirect to follow.
func (t *Tool) post(ctx context.Context, r request) (answered *reply, next string, failed *sendError) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(r.body))
	if err != nil {
		return nil, "", &sendError{cause: errors.New("the request cannot be made")}
	}
	t.setHeader(req, r)
	client := t.client.kept
	if !t.resendable() {
		client = t.client.single
		req.GetBody = nil // the transport cannot send it a second time
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, "", &sendError{sent: sent.Load(), cause: local.ConnectionError(err)}
	}
	defer func() { _ = res.Body.Close() }() // the answer is read; closing tells nothing new
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		next, refused := followed(req.URL, res)
		return &reply{status: res.StatusCode, refused: refused}, next, nil
	}
	body, tooLong, err := t.client.read(res)
	if err != nil && res.StatusCode < 300 {
		return nil, "", &sendError{sent: true, cause: local.ConnectionError(err)}
	}
	return &reply{status: res.StatusCode, retryAfter: res.Header.Get("Retry-After"), body: body, tooLong: tooLong, delegated: !r.bearer.IsZero()}, "", nil
}

func (t *Tool) setHeader(req *http.Request, r request) {
	for name, values := range t.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	if !r.bearer.IsZero() {
		req.Header.Set("Authorization", "Bearer "+r.bearer.Reveal())
	}
	if r.idempotencyKey != "" {
		req.Header.Set("Idempotency-Key", r.idempotencyKey)
	}
}

// trusted is how many bytes of a body are made room for because its header says so.
const trusted = 2 << 20

// read reads the body up to the limit.
func (c *Client) read(res *http.Response) (body []byte, tooLong bool, err error) {
	var buffer bytes.Buffer
	buffer.Grow(int(min(max(res.ContentLength, 0), c.cfg.MaxBody, trusted)) + bytes.MinRead)
	_, err = buffer.ReadFrom(io.LimitReader(res.Body, c.cfg.MaxBody+1))
	if int64(buffer.Len()) > c.cfg.MaxBody {
		return nil, true, nil
	}
	return buffer.Bytes(), false, err
}

// followed is where a redirect leads if it may be followed: the method stays POST and the host stays the same.
func followed(from *url.URL, res *http.Response) (string, error) {
	if res.StatusCode != http.StatusTemporaryRedirect && res.StatusCode != http.StatusPermanentRedirect {
		return "", errors.New("only the redirects 307 and 308 are followed")
	}
	to, err := res.Location()
	if err != nil {
		return "", errors.New("it redirects to no address")
	}
	if to.Host != from.Host || to.Scheme != from.Scheme {
		return "", errors.New("redirects to another host are refused")
	}
	if to.User != nil {
		return "", errors.New("redirects to an address with a user are refused")
	}
	return to.String(), nil
}
