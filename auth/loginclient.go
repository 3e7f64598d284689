package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// LoginConfig is Pawl as a client of an issuer: browsers log in on the issuer's own page, by the authorization code flow with
// PKCE.
type LoginConfig struct {
	ClientID     string // required: what the issuer calls Pawl
	ClientSecret string // empty: a public client
	// RedirectURL is where the issuer sends browsers back to, when that is not what they asked for.
	RedirectURL string
	Scopes      []string // what is asked for beside openid
	Name        string   // what the issuer is called. Default: its host
}

func (c LoginConfig) withDefaults(issuer string) (LoginConfig, error) {
	if c.ClientID == "" {
		return c, errors.New("auth: the login of an issuer needs ClientID")
	}
	if c.RedirectURL != "" {
		if parsed, err := url.Parse(c.RedirectURL); err != nil || parsed.Host == "" || parsed.Fragment != "" {
			return c, fmt.Errorf("auth: RedirectURL: want an address such as https://pawl.example.com/…, have %q", c.RedirectURL)
		}
	}
	c.Scopes = slices.Compact(append([]string{oidc.ScopeOpenID}, slices.DeleteFunc(slices.Clone(c.Scopes), func(scope string) bool {
		return scope == "" || scope == oidc.ScopeOpenID
	})...))
	if parsed, err := url.Parse(issuer); c.Name == "" && err == nil {
		c.Name = parsed.Host
	}
	return c, nil
}

// loginClient is the client at an issuer that has said where it is spoken to.
type loginClient struct {
	cfg      LoginConfig
	provider *oidc.Provider
	tokens   *oidc.IDTokenVerifier // of tokens for the client
	endpoint oauth2.Endpoint
	logout   string // the issuer's own logout; empty: it has none
	names    bool   // the issuer says who it is when it sends a browser back
	http     *http.Client
}

func newLoginClient(
	provider *oidc.Provider, document discovered, cfg IssuerConfig, tokens *oidc.IDTokenVerifier,
) (*loginClient, error) {
	c := &loginClient{
		cfg: *cfg.Login, provider: provider, tokens: tokens, endpoint: provider.Endpoint(), names: document.NamesIssuer,
	}
	for name, address := range map[string]string{
		"authorization_endpoint": c.endpoint.AuthURL, "token_endpoint": c.endpoint.TokenURL,
	} {
		if !trustworthy(address, cfg.URL) {
			return nil, fmt.Errorf("issuer %s: it names no %s that can be used", cfg.URL, name)
		}
	}
	if trustworthy(document.LogoutURL, cfg.URL) {
		c.logout = document.LogoutURL
	}
	c.endpoint.AuthStyle = authStyle(c.cfg.ClientSecret != "", document.Methods)
	following := *cfg.Client
	// What is sent there is a secret, and for nobody else.
	following.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &following
	return c, nil
}

// trustworthy reports whether an address of the issuer's document is one, and no less safe than the issuer's own.
func trustworthy(address, issuer string) bool {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return false
	}
	own, err := url.Parse(issuer)
	return err == nil && (at.Scheme == "https" || at.Scheme == "http" && own.Scheme == "http")
}

// authStyle is how the client says who it is. A code is sent once, so it is not tried out.
func authStyle(secret bool, methods []string) oauth2.AuthStyle {
	if !secret || slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// config is the client with the place where its browsers are sent back to.
func (c *loginClient) config(redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: c.cfg.ClientID, ClientSecret: c.cfg.ClientSecret, Endpoint: c.endpoint, RedirectURL: redirect,
		Scopes: c.cfg.Scopes,
	}
}

// exchange gives the tokens that the code stands for. errRefused: the issuer does not take the code. No error holds what was
// sent, or what came back.
func (c *loginClient) exchange(ctx context.Context, redirect, code, verifier string) (*oauth2.Token, error) {
	if code == "" {
		return nil, fmt.Errorf("%w: the issuer gave no code", errRefused)
	}
	tokens, err := c.config(redirect).Exchange(oidc.ClientContext(ctx, c.http), code, oauth2.VerifierOption(verifier))
	var answer *oauth2.RetrieveError
	switch {
	case err == nil:
		return tokens, nil
	case errors.As(err, &answer) && answer.ErrorCode == "invalid_grant":
		return nil, fmt.Errorf("%w: the issuer does not take the code", errRefused)
	case errors.As(err, &answer):
		return nil, fmt.Errorf("the issuer's token endpoint answered %s %s", answer.Response.Status, excerpt(answer.ErrorCode, maxErrorCode))
	default:
		return nil, fmt.Errorf("the issuer's token endpoint: %w", err)
	}
}

// userInfo gives the claims that the issuer keeps out of its ID tokens; none when it has no such endpoint.
func (c *loginClient) userInfo(ctx context.Context, tokens *oauth2.Token, subject string) (map[string]any, error) {
	if c.provider.UserInfoEndpoint() == "" {
		return nil, nil
	}
	info, err := c.provider.UserInfo(oidc.ClientContext(ctx, c.http), oauth2.StaticTokenSource(tokens))
	if err != nil {
		var unreached *url.Error
		if errors.As(err, &unreached) {
			return nil, fmt.Errorf("the issuer's userinfo endpoint: %w", err)
		}
		return nil, errors.New("the issuer's userinfo endpoint gave no claims") // its answer may hold anything
	}
	if info.Subject != subject {
		return nil, fmt.Errorf("%w: the issuer's userinfo is of somebody else", errRefused)
	}
	var claims map[string]any
	if err := info.Claims(&claims); err != nil {
		return nil, fmt.Errorf("the issuer's userinfo endpoint: %w", err)
	}
	return claims, nil
}
