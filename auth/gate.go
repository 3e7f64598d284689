package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

const (
	header     = "Authorization"
	paramToken = "token"
)

// Config is what a Gate is made of.
type Config struct {
	KeysConfig
	// Issuer names callers by tokens of an OpenID Connect issuer, beside the keys. nil: keys alone.
	Issuer *Issuer
	// LoginRate bounds the logins that one address may try in a minute; the way to the issuer's page counts as one, and so does the
	// way back. 0: no bound.
	LoginRate int
	// Proxies are those whose X-Forwarded-For is taken for the address of a request. None: that of the connection is.
	Proxies []netip.Prefix
	Logger  *slog.Logger // nil: slog.Default()
}

// Gate knows who sends a request: New's by keys, Open's and By's otherwise. It is safe for concurrent use.
type Gate struct {
	Keys     *Keys     // nil: New has not made it
	Sessions *Sessions // nil: New has not made it
	Streams  *StreamTokens

	admit    func(*http.Request) error // of requests that need no credential
	enter    func(*http.Request) (*Visit, error)
	issuer   *Issuer
	begun    begunLogins // on the issuer's page
	failures *tries
	logins   *tries // nil: no bound
	proxies  []netip.Prefix
	logger   *slog.Logger
}

// New makes a Gate over the caller's client. The error names the field that is wrong.
func New(rdb redis.UniversalClient, cfg Config) (*Gate, error) {
	keys, err := NewKeys(rdb, cfg.KeysConfig)
	if err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.LoginRate < 0 {
		return nil, fmt.Errorf("auth: LoginRate must not be negative, is %d", cfg.LoginRate)
	}
	vault := redisVault{rdb: rdb, prefix: keys.cfg.Prefix}
	g := &Gate{
		Keys: keys, Sessions: &Sessions{vault: vault, keys: keys}, Streams: &StreamTokens{vault: vault, keys: keys},
		admit: func(*http.Request) error { return nil }, issuer: cfg.Issuer, failures: newTries(maxFailures), logger: cfg.Logger,
		proxies: cfg.Proxies,
		begun:   begunLogins{rdb: rdb, name: keys.cfg.Prefix + ":logins"},
	}
	if cfg.LoginRate > 0 {
		g.logins = newTries(cfg.LoginRate)
	}
	g.enter = g.known
	return g, nil
}

// Admit lets in a request for what needs no credential.
func (g *Gate) Admit(r *http.Request) error { return g.admit(r) }

// Enter names the caller of a request, by its bearer credential, else by its session. ErrUnauthenticated: there is none that
// is good. ErrForbidden: the caller has no role, or a page of another origin used its session. ErrOverloaded: the address
// has failed too often; a good credential is let in all the same. ErrUnavailable: it cannot be found out now.
func (g *Gate) Enter(r *http.Request) (*Visit, error) { return g.enter(r) }

// known is Enter of a gate with keys.
func (g *Gate) known(r *http.Request) (*Visit, error) {
	if values := r.Header.Values(header); len(values) > 0 {
		if len(values) > 1 {
			return nil, refusedIn(header)
		}
		text, is := bearer(values[0])
		if !is {
			return nil, g.refuse(r, refusedIn(header))
		}
		visit, err := g.visit(r.Context(), text)
		if err != nil {
			return nil, g.refuse(r, err)
		}
		return visit, nil
	}
	if shown, err := r.Cookie(SessionCookie); err == nil {
		return g.returned(r, shown.Value)
	}
	return nil, execution.NewAPIError(execution.Unauthenticated, "a bearer key is needed").In(header)
}

// Login creates a session for whoever shows a credential: an API key, or a token of the issuer. The errors are Enter's, and
// ErrOverloaded when the address has tried too often, whatever it shows.
func (g *Gate) Login(r *http.Request, credential string) (*http.Cookie, *Visit, error) {
	if g.Sessions == nil {
		return nil, nil, execution.NewAPIError(execution.Forbidden, "%v: there is nothing to log in with", errNoKeys)
	}
	if err := g.mayTry(r); err != nil {
		return nil, nil, err
	}
	visit, err := g.visit(r.Context(), credential)
	if err != nil {
		return nil, nil, g.refuse(r, err)
	}
	cookie, err := g.Sessions.Create(r.Context(), r, visit)
	return cookie, visit, err
}

// StreamToken makes a token that opens the stream of the execution, with the authority of the visit. See StreamTokens.Mint.
func (g *Gate) StreamToken(ctx context.Context, visit *Visit, id execution.ID) (execution.StreamToken, error) {
	return g.Streams.Mint(ctx, visit, id)
}

// Stream is the visit of whoever shows a token to open an execution's stream. The errors are Enter's.
func (g *Gate) Stream(r *http.Request, token string, id execution.ID) (*Visit, error) {
	if err := g.admit(r); err != nil {
		return nil, err
	}
	visit, err := g.Streams.Find(r.Context(), token, id)
	if err != nil {
		return nil, g.refuse(r, err)
	}
	return visit, nil
}

// returned is the visit of a session. What changes something must come from a page of this origin.
func (g *Gate) returned(r *http.Request, value string) (*Visit, error) {
	if Unsafe(r) && !SameOrigin(r) {
		return nil, execution.NewAPIError(execution.Forbidden,
			"with a session only pages of this origin may change something").In("Origin")
	}
	visit, err := g.Sessions.Find(r.Context(), value)
	if err != nil {
		return nil, in("Cookie", err)
	}
	return visit, nil
}

// visit tells a key from a token of the issuer.
func (g *Gate) visit(ctx context.Context, credential string) (*Visit, error) {
	var visit *Visit
	err := errUnknown
	switch {
	case len(credential) > maxCredential:
	case strings.HasPrefix(credential, keyPrefix):
		visit, err = g.Keys.visit(ctx, credential)
	case g.issuer != nil && strings.Count(credential, ".") == 2:
		visit, err = g.issuer.visit(ctx, credential)
	}
	if err != nil {
		return nil, problem(ctx, err)
	}
	return visit, nil
}

// mayTry counts a login against its address, before anything is asked about it. Nobody is let in above the bound: sessions stay as they
// are, and so does whoever sends a key with each request.
func (g *Gate) mayTry(r *http.Request) error {
	if g.logins == nil {
		return nil
	}
	from := g.sender(r)
	wait, first := g.logins.add(from)
	if first {
		g.logger.WarnContext(r.Context(), "many logins from one address", "remote", from.String())
	}
	if wait > 0 {
		return execution.NewAPIError(execution.Overloaded, "too many logins came from this address").After(wait)
	}
	return nil
}

// refuse counts a bad credential against its address.
func (g *Gate) refuse(r *http.Request, err error) error {
	if !errors.Is(err, execution.ErrUnauthenticated) {
		return err
	}
	from := g.sender(r)
	wait, first := g.failures.add(from)
	if first && g.logger != nil {
		g.logger.WarnContext(r.Context(), "many bad credentials from one address", "remote", from.String())
	}
	if wait > 0 {
		return execution.NewAPIError(execution.Overloaded, "too many bad credentials came from this address").
			In(header).After(wait).Because(err)
	}
	return err
}

// bearer is the credential of an Authorization header.
func bearer(value string) (string, bool) {
	scheme, credential, found := strings.Cut(strings.TrimSpace(value), " ")
	credential = strings.TrimSpace(credential)
	return credential, found && strings.EqualFold(scheme, "Bearer") && credential != ""
}

// refusedIn is the error of what cannot be a credential.
func refusedIn(field string) error {
	return execution.NewAPIError(execution.Unauthenticated, "this is no credential of this API").In(field)
}

// in names where the credential was.
func in(field string, err error) error {
	var api *execution.APIError
	if errors.As(err, &api) && api.Field != "" {
		return api.In(field)
	}
	return err
}
