package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/pawl-run/pawl/execution"
)

// LoginCookie is the name of the cookie that a browser keeps while it is at the issuer.
const LoginCookie = "pawl_login"

const (
	// maxNext bounds the place that a login leads back to, in bytes: the cookie carries it.
	maxNext = 2048
	// What is shown of an issuer's error, in characters.
	maxErrorCode        = 40
	maxErrorDescription = 200
)

// Departure sends a browser to the issuer.
type Departure struct {
	To     string       // the address at the issuer
	Cookie *http.Cookie // what the browser must come back with
}

// Arrival is what a login on the issuer's page came to.
type Arrival struct {
	// Next is what BeginLogin was given; empty when it cannot be told.
	Next string
	// Session is the cookie of the session; nil when there is none.
	Session *http.Cookie
	// Spent takes the login's own cookie away; nil when it stays.
	Spent *http.Cookie
}

// IssuerName is what the issuer is called on whose page browsers may log in; empty: there is no such login.
func (g *Gate) IssuerName() string {
	if g.issuer == nil || g.issuer.cfg.Login == nil {
		return ""
	}
	return g.issuer.cfg.Login.Name
}

// IssuerLogout is the address of the issuer's own logout; empty when it has none, or has not answered yet.
func (g *Gate) IssuerLogout() string {
	if g.IssuerName() == "" {
		return ""
	}
	known := g.issuer.known.Load()
	if known == nil || known.login == nil || known.login.logout == "" {
		return ""
	}
	query := "client_id=" + url.QueryEscape(known.login.cfg.ClientID)
	if strings.Contains(known.login.logout, "?") {
		return known.login.logout + "&" + query
	}
	return known.login.logout + "?" + query
}

// BeginLogin begins a login on the issuer's page, for the browser that sent r. The issuer sends it back to the path back of
// this origin, or to LoginConfig.RedirectURL; there FinishLogin gives next again, and the cookie is sent to no other path.
// ErrForbidden: there is no such login. ErrOverloaded: the address has tried too often. ErrUnavailable: the issuer has not answered
// yet, or Redis does not.
func (g *Gate) BeginLogin(r *http.Request, back, next string) (Departure, error) {
	client, err := g.loginClient()
	if err != nil {
		return Departure{}, problem(r.Context(), err)
	}
	if err := g.mayTry(r); err != nil {
		return Departure{}, err
	}
	if len(next) > maxNext {
		next = ""
	}
	login := begunLogin{secret: newSecret(), next: next}
	if err := g.begun.put(r.Context(), login.text()); err != nil {
		return Departure{}, problem(r.Context(), err)
	}
	to := client.config(client.redirect(r, back)).AuthCodeURL(
		login.derived("state"), oidc.Nonce(login.derived("nonce")), oauth2.S256ChallengeOption(login.derived("verifier")))
	return Departure{To: to, Cookie: loginCookie(r, back, login.text(), int(LoginTTL.Seconds()))}, nil
}

// FinishLogin creates a session for whoever comes back from the issuer: with the cookie of BeginLogin, within LoginTTL, once.
// back is BeginLogin's. ErrUnauthenticated: the login was not begun in this browser or is over, or what the issuer sent is no
// good. ErrForbidden: the issuer let nobody in, or its token names no caller. ErrOverloaded, ErrUnavailable: as Login's.
// Whatever the error is, the login must be begun again.
func (g *Gate) FinishLogin(r *http.Request, back string) (Arrival, error) {
	client, err := g.loginClient()
	if err != nil {
		return Arrival{}, problem(r.Context(), err)
	}
	if err := g.mayTry(r); err != nil {
		return Arrival{}, err
	}
	login, err := g.takeLogin(r)
	if err != nil {
		return Arrival{Next: login.next}, g.refuse(r, err)
	}
	arrival := Arrival{Next: login.next, Spent: loginCookie(r, back, "", -1)}
	visit, err := g.arrive(r, client, login, back)
	if err != nil {
		return arrival, g.refuse(r, err)
	}
	arrival.Session, err = g.Sessions.Create(r.Context(), r, visit)
	return arrival, err
}

func (g *Gate) loginClient() (*loginClient, error) {
	if g.IssuerName() == "" {
		return nil, execution.NewAPIError(execution.Forbidden, "there is no login on an issuer's page here")
	}
	known, err := g.issuer.ask()
	if err == nil && known.login == nil {
		err = fmt.Errorf("issuer %s says not where browsers log in", g.issuer.cfg.URL)
	}
	if err != nil {
		return nil, execution.NewAPIError(execution.Unavailable, "%s does not answer: nobody can log in there now",
			g.IssuerName()).After(time.Second).Because(err)
	}
	return known.login, nil
}

// takeLogin is the login that the browser began. It is over with this. A request that does not come from it, because it has
// another state, leaves it as it is.
func (g *Gate) takeLogin(r *http.Request) (begunLogin, error) {
	var login begunLogin
	if shown, err := r.Cookie(LoginCookie); err == nil {
		login = readLogin(shown.Value)
	}
	state := r.URL.Query().Get("state")
	if login.secret == "" || !equal(state, login.derived("state")) {
		return login, notBegun(errors.New("the state is not that of the browser"))
	}
	if err := g.begun.take(r.Context(), login.text()); errors.Is(err, errRefused) {
		return login, notBegun(err)
	} else if err != nil {
		return login, problem(r.Context(), err)
	}
	return login, nil
}

func notBegun(cause error) error {
	return execution.NewAPIError(execution.Unauthenticated, "this login was not begun in this browser, has ended already, or took "+
		"longer than %d minutes: begin it again", int(LoginTTL.Minutes())).Because(cause)
}

// arrive is the visit of whoever the issuer sent back. It lasts as long as a session, not as long as the token that began it.
func (g *Gate) arrive(r *http.Request, client *loginClient, login begunLogin, back string) (*Visit, error) {
	ctx, answer := r.Context(), r.URL.Query()
	if err := g.issuer.refusedBy(client, answer.Get("iss"), answer.Get("error"), answer.Get("error_description")); err != nil {
		return nil, err
	}
	tokens, err := client.exchange(ctx, client.redirect(r, back), answer.Get("code"), login.derived("verifier"))
	if err != nil {
		return nil, loginProblem(ctx, client, err)
	}
	authority, err := g.issuer.identify(ctx, client, tokens, login.derived("nonce"))
	if err != nil {
		return nil, loginProblem(ctx, client, err)
	}
	return &Visit{Authority: authority, Until: time.Now().Add(SessionTTL)}, nil
}

// refusedBy is the error that the issuer sends a browser back with.
func (i *Issuer) refusedBy(client *loginClient, issuer, code, description string) error {
	name := client.cfg.Name
	switch {
	case issuer != i.cfg.URL && (issuer != "" || client.names):
		return execution.NewAPIError(execution.Unauthenticated, "this answer is not one of %s: begin the login again", name)
	case code == "":
		return nil
	case code == "server_error" || code == "temporarily_unavailable":
		return execution.NewAPIError(execution.Unavailable, "%s cannot log anybody in now (%s)", name, code).After(time.Second)
	default:
		detail := excerpt(code, maxErrorCode)
		if said := excerpt(description, maxErrorDescription); said != "" {
			detail += ": " + said
		}
		return execution.NewAPIError(execution.Forbidden, "%s did not let you in (%s)", name, detail)
	}
}

// identify says who the tokens are of.
func (i *Issuer) identify(
	ctx context.Context, client *loginClient, tokens *oauth2.Token, nonce string,
) (execution.Authority, error) {
	var none execution.Authority
	text, _ := tokens.Extra("id_token").(string)
	if text == "" || len(text) > maxCredential {
		return none, fmt.Errorf("%w: the issuer gave no ID token", errRefused)
	}
	verified, claims, err := i.verify(ctx, client.tokens, text)
	if err != nil {
		return none, err
	}
	if !equal(verified.Nonce, nonce) {
		return none, fmt.Errorf("%w: the ID token is of another login", errRefused)
	}
	if party, is := claims["azp"]; is && party != client.cfg.ClientID {
		return none, fmt.Errorf("%w: the ID token was given to another client", errRefused)
	}
	authority, err := i.authority(claims)
	if err == nil {
		return authority, nil
	}
	// What an ID token leaves out may be at the userinfo endpoint; what it says counts.
	more, failed := client.userInfo(ctx, tokens, verified.Subject)
	if failed != nil {
		return none, failed
	}
	maps.DeleteFunc(more, func(name string, _ any) bool { _, is := claims[name]; return is })
	maps.Copy(claims, more)
	if authority, err = i.authority(claims); err != nil {
		return none, execution.NewAPIError(execution.Forbidden, "%s says not what you may do here: %v", client.cfg.Name, err)
	}
	return authority, nil
}

// loginProblem is the caller's error.
func loginProblem(ctx context.Context, client *loginClient, err error) error {
	var api *execution.APIError
	switch {
	case errors.As(err, &api):
		return err
	case errors.Is(err, errRefused):
		return execution.NewAPIError(execution.Unauthenticated, "what %s sent is not good for this login: begin it again", client.cfg.Name).
			Because(err)
	case ctx.Err() != nil:
		return fmt.Errorf("log in: %w", ctx.Err())
	default:
		return execution.NewAPIError(execution.Unavailable, "%s gives no answer that can be used: nobody can log in there now",
			client.cfg.Name).After(time.Second).Because(err)
	}
}

// redirect is where the issuer sends the browser back to.
func (c *loginClient) redirect(r *http.Request, back string) string {
	if c.cfg.RedirectURL != "" {
		return c.cfg.RedirectURL
	}
	return originOf(r) + back
}

// begunLogin is what a browser keeps while it is at the issuer. Whatever goes to the issuer comes of the secret, by a way that
// nobody goes back.
type begunLogin struct {
	secret, next string
}

func (l begunLogin) text() string {
	return l.secret + "." + base64.RawURLEncoding.EncodeToString([]byte(l.next))
}

func (l begunLogin) derived(purpose string) string {
	mac := hmac.New(sha256.New, []byte(l.secret))
	mac.Write([]byte(purpose))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// readLogin reads a cookie; without a secret when it is none.
func readLogin(text string) begunLogin {
	secret, encoded, found := strings.Cut(text, ".")
	next, err := base64.RawURLEncoding.DecodeString(encoded)
	if !found || err != nil || len(next) > maxNext {
		return begunLogin{}
	}
	return begunLogin{secret: secret, next: string(next)}
}

// loginCookie is out of reach of scripts, and is sent on the way back from the issuer, which is another site.
func loginCookie(r *http.Request, path, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: LoginCookie, Value: value, Path: path, MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: OverTLS(r),
	}
}

// excerpt is the beginning of a text of somebody else, on one line.
func excerpt(text string, most int) string {
	kept := []rune{}
	for _, char := range text {
		if len(kept) == most {
			return string(kept) + "…"
		}
		if !unicode.IsPrint(char) {
			char = ' '
		}
		kept = append(kept, char)
	}
	return strings.TrimSpace(string(kept))
}
