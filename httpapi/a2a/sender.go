package a2a

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
)

// headerToken carries the token that a config was left with: whoever is told knows that it is no stranger.
const headerToken = "X-A2A-Notification-Token"

// maxDrained is how much of an answer is read, so that its connection can be used again.
const maxDrained = 64 << 10

// errRefused: a notification was refused for good.
var errRefused = errors.New("the notification was refused")

// How many notifications are under way at once, together and to one host: a change of very many tasks at once must not open as
// many connections. What waits for its turn at a host for too long is tried again later.
const (
	maxSending = 256
	maxPerHost = 32
)

// sender sends notifications. It goes where its guard permits, follows no redirects and uses no proxy.
type sender struct {
	client *http.Client
	turns  chan struct{} // one for each that is under way
}

func newSender(g guard, timeout time.Duration) *sender {
	dialer := &net.Dialer{Timeout: timeout, ControlContext: g.control}
	return &sender{turns: make(chan struct{}, maxSending), client: &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: timeout,
			MaxConnsPerHost: maxPerHost, MaxIdleConns: 100, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxDrained,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// send posts a task. errRefused: sending it again is of no use. No error holds a secret, or the address, which may hold one.
func (s *sender) send(ctx context.Context, config sdk.PushConfig, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: its address cannot be used", errRefused)
	}
	request.Header.Set("Content-Type", contentJSON)
	request.Header.Set("User-Agent", "pawl")
	if config.Token != "" {
		request.Header.Set(headerToken, config.Token)
	}
	if auth := config.Auth; auth != nil && auth.Credentials != "" {
		request.Header.Set("Authorization", schemeOf(auth.Schemes)+" "+auth.Credentials)
	}
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return fmt.Errorf("send notification: %w", ctx.Err())
	}
	response, err := s.client.Do(request)
	if err != nil {
		if errors.Is(err, errGuarded) {
			return fmt.Errorf("%w: %w", errRefused, errGuarded)
		}
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return fmt.Errorf("send notification: %w", err)
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxDrained) // only so that the connection can be used again
	_ = response.Body.Close()
	switch status := response.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return fmt.Errorf("the notification was answered with %d", status)
	default:
		return fmt.Errorf("%w with %d", errRefused, status)
	}
}
