package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 64 << 20

// call is one request of the API.
type call struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   any
	repeat bool          // sending it twice does no harm
	longer time.Duration // what the API may take on top of the timeout
	failed func(error)   // is told of each attempt that failed; nil: nobody is
}

// do sends the call, again when that is safe and useful, and decodes the answer into out.
func (c *Client) do(ctx context.Context, call call, out any) (*http.Response, error) {
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(call.body); err != nil {
			return nil, execution.NewAPIError(execution.InvalidRequest, "the request cannot be encoded").Because(err)
		}
	}
	for attempt := 1; ; attempt++ {
		answer, err := c.once(ctx, call, body, out)
		if err == nil {
			return answer, nil
		}
		if call.failed != nil {
			call.failed(err)
		}
		if !c.again(call, err) || !c.wait(ctx, attempt, err) {
			return answer, err
		}
	}
}

// wait waits for the next attempt and reports whether there is one. Else the error of the last one says more than that the
// time is up.
func (c *Client) wait(ctx context.Context, attempt int, err error) bool {
	if attempt == c.cfg.Attempts {
		return false
	}
	d := c.backoff(attempt, err)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return false
	}
	return pause(ctx, d) == nil
}

// again reports whether the call is worth another attempt, and harmless. What the API refused for its load it has not
// begun.
func (c *Client) again(call call, err error) bool {
	var api *execution.APIError
	if errors.As(err, &api) && api.RetryAfter > c.cfg.MaxRetryAfter {
		return false
	}
	return errors.Is(err, execution.ErrOverloaded) || call.repeat && passing(err)
}

func (c *Client) once(ctx context.Context, call call, body []byte, out any) (*http.Response, error) {
	bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout+call.longer)
	defer cancel()
	answer, err := c.send(bounded, call, body)
	if err == nil {
		defer func() { _ = answer.Body.Close() }() // it was read, or its error is known
		err = decode(answer, out)
	}
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%s %s: %w", call.method, call.path, ctx.Err())
	}
	return answer, err
}

// send returns an answer of any status.
func (c *Client) send(ctx context.Context, call call, body []byte) (*http.Response, error) {
	target := *c.base
	target.RawPath = c.base.EscapedPath() + call.path
	path, err := url.PathUnescape(target.RawPath)
	if err != nil {
		return nil, execution.NewAPIError(execution.InvalidRequest, "malformed path").Because(err)
	}
	target.Path, target.RawQuery = path, call.query.Encode()
	request, err := http.NewRequestWithContext(ctx, call.method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, execution.NewAPIError(execution.InvalidRequest, "the request cannot be made").Because(err)
	}
	for name, values := range call.header {
		request.Header[name] = values
	}
	if request.Header.Get("Accept") == "" {
		request.Header.Set("Accept", "application/json")
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.cfg.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+c.cfg.APIKey)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, execution.NewAPIError(execution.Unavailable, "the API at %s cannot be reached", c.base).Because(err)
	}
	return answer, nil
}

// decode reads an answer: out when it is a success, else the error it carries.
func decode(answer *http.Response, out any) error {
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return execution.NewAPIError(execution.Unavailable, "the answer was cut short").Because(err)
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return problem(answer, data)
	}
	if out == nil {
		if answer.StatusCode == http.StatusNoContent {
			return nil
		}
		err = errMalformed
	} else {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return execution.NewAPIError(execution.Internal,
			"what %s answers is not of Pawl's API", answer.Request.URL.Host).Because(err)
	}
	return nil
}

// problem is the error of an answer. One that is no problem of Pawl's, from a proxy, keeps its status.
func problem(answer *http.Response, data []byte) *execution.APIError {
	e := new(execution.APIError)
	if json.Unmarshal(data, e) != nil || e.Code == "" {
		e = execution.NewAPIError(codeOf(answer.StatusCode), "the API answered %s", answer.Status)
	}
	if to := answer.Header.Get("Location"); answer.StatusCode < http.StatusBadRequest && to != "" {
		e.Detail += ": it says that it is at " + to
	}
	e.Status = answer.StatusCode
	e.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), time.Now())
	return e
}

// retryAfter reads the header of that name: seconds, or an instant, which a proxy may give. 0 when it says nothing.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func codeOf(status int) execution.ErrorCode {
	switch status {
	case http.StatusUnauthorized:
		return execution.Unauthenticated
	case http.StatusForbidden:
		return execution.Forbidden
	case http.StatusNotFound:
		return execution.NotFound
	case http.StatusConflict:
		return execution.Conflict
	case http.StatusGone:
		return execution.Gone
	case http.StatusRequestEntityTooLarge:
		return execution.TooLarge
	case http.StatusTooManyRequests:
		return execution.Overloaded
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return execution.Unavailable
	case http.StatusInternalServerError:
		return execution.Internal
	default:
		return execution.InvalidRequest
	}
}

// passing reports whether the same call may fare better in a moment.
func passing(err error) bool {
	return errors.Is(err, execution.ErrUnavailable) || errors.Is(err, execution.ErrOverloaded)
}
