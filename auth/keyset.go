package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// keySet is the issuer's keys. Whoever sends tokens that name keys which do not exist cannot make it ask the issuer more
// often than Refetch allows.
type keySet struct {
	remote *oidc.RemoteKeySet
}

func newKeySet(ctx context.Context, url string, client *http.Client, least time.Duration) keySet {
	paced, inner := *client, client.Transport
	if inner == nil {
		inner = http.DefaultTransport
	}
	paced.Transport = &pacedTransport{inner: inner, least: least}
	return keySet{remote: oidc.NewRemoteKeySet(oidc.ClientContext(ctx, &paced), url)}
}

// VerifySignature implements oidc.KeySet. It leaves in ctx why the keys could not be had.
func (k keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.remote.VerifySignature(ctx, token)
	if errors.Is(err, errFetch) {
		if failed, is := ctx.Value(fetchFailure{}).(*error); is {
			*failed = err
		}
	}
	return payload, err
}

type fetchFailure struct{}

// withFetchFailure makes room for why the keys could not be had: the verifier keeps the text of errors alone.
func withFetchFailure(ctx context.Context) (context.Context, *error) {
	failed := new(error)
	return context.WithValue(ctx, fetchFailure{}, failed), failed
}

var (
	// errFetch: the issuer does not give its keys.
	errFetch = errors.New("its keys cannot be had")
	// errRecent: the keys were looked up a moment ago, and there was no other.
	errRecent = errors.New("its keys were looked up a moment ago")
)

// pacedTransport sends at most one request in a while. In between it answers as the last one ended.
type pacedTransport struct {
	inner http.RoundTripper
	least time.Duration

	mu   sync.Mutex
	next time.Time // guarded by mu, as the others
	last error
}

// RoundTrip implements http.RoundTripper.
func (p *pacedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.next) {
		return nil, p.last
	}
	response, err := p.inner.RoundTrip(r)
	switch {
	case err != nil:
		p.last = fmt.Errorf("%w: %w", errFetch, err)
	case response.StatusCode != http.StatusOK:
		_ = response.Body.Close() // it says nothing that the status does not
		p.last = fmt.Errorf("%w: it answered %s", errFetch, response.Status)
	default:
		p.next, p.last = time.Now().Add(p.least), errRecent
		return response, nil
	}
	p.next = time.Now().Add(min(p.least, time.Second))
	return nil, p.last
}
