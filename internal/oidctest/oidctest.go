// Package oidctest gives tests an OpenID Connect issuer that logs browsers in: the authorization code flow with PKCE, with one
// account that needs no password. It checks what a client sends as strictly as the standards let it, and can be told to answer
// as an issuer should not.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// ClientID is the one client that the issuer knows.
const ClientID = "pawl-dashboard"

// Behavior is how the issuer answers. The zero value is how it should.
type Behavior struct {
	Secret string // that the client must show; empty: it is a public one
	Post   bool   // the secret is taken in the body alone, not in a header
	// Claims change those of ID tokens; nil takes one away.
	Claims map[string]any
	// UserInfo are the claims of the userinfo endpoint, beside sub. nil: it is not served.
	UserInfo map[string]any
	// Thief signs ID tokens with a key that is not the issuer's.
	Thief bool
	// Error and Description are what a browser is sent back with in place of a code.
	Error, Description string
	// Names is who sends the browser back, as the parameter iss says. Default: the issuer; "-": it does not say.
	Names string
	// TokenStatus and TokenError are what the token endpoint answers in place of tokens.
	TokenStatus int
	TokenError  string
	NoIDToken   bool
}

// Issuer is the server. It is safe for concurrent use.
type Issuer struct {
	*httptest.Server

	tb        testing.TB
	own, fake *ecdsa.PrivateKey

	mu        sync.Mutex // guards what follows
	behavior  Behavior
	codes     map[string]request
	opened    map[string]bool // access tokens
	exchanges int
	last      string // the last code
}

// request is what a code was given for.
type request struct{ redirect, challenge, nonce string }

// New starts an issuer that ends with the test.
func New(tb testing.TB, behavior Behavior) *Issuer {
	tb.Helper()
	i := &Issuer{tb: tb, behavior: behavior, codes: map[string]request{}, opened: map[string]bool{}}
	for _, key := range []**ecdsa.PrivateKey{&i.own, &i.fake} {
		var err error
		if *key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			tb.Fatalf("make a key: %v", err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.own.Public(), KeyID: "k", Algorithm: "ES256"}}})
	})
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /userinfo", i.userInfo)
	mux.HandleFunc("GET /logout", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, "logged out") })
	i.Server = httptest.NewServer(mux)
	tb.Cleanup(i.Close)
	return i
}

// Behave makes the issuer answer otherwise.
func (i *Issuer) Behave(behavior Behavior) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.behavior = behavior
}

// Exchanges is how many requests came for tokens, and the last code that was given.
func (i *Issuer) Exchanges() (requests int, code string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.exchanges, i.last
}

func (i *Issuer) now() Behavior {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.behavior
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	behavior := i.now()
	document := map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize",
		"token_endpoint": i.URL + "/token", "end_session_endpoint": i.URL + "/logout",
		"id_token_signing_alg_values_supported":          []string{"ES256"},
		"authorization_response_iss_parameter_supported": true,
	}
	if behavior.UserInfo != nil {
		document["userinfo_endpoint"] = i.URL + "/userinfo"
	}
	if behavior.Post {
		document["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	}
	write(w, http.StatusOK, document)
}

// authorize sends the browser back at once: there is one account, and nobody is asked.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	asked, behavior := r.URL.Query(), i.now()
	challenge, err := base64.RawURLEncoding.DecodeString(asked.Get("code_challenge"))
	redirect, redirectErr := url.Parse(asked.Get("redirect_uri"))
	if asked.Get("client_id") != ClientID || asked.Get("response_type") != "code" || asked.Get("scope") == "" ||
		asked.Get("code_challenge_method") != "S256" || err != nil || len(challenge) != sha256.Size ||
		asked.Get("state") == "" || asked.Get("nonce") == "" || redirectErr != nil || redirect.Host == "" {
		http.Error(w, "this is no request of a client", http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {asked.Get("state")}, "iss": {i.URL}}
	switch behavior.Names {
	case "":
	case "-":
		answer.Del("iss")
	default:
		answer.Set("iss", behavior.Names)
	}
	if behavior.Error != "" {
		answer.Set("error", behavior.Error)
		answer.Set("error_description", behavior.Description)
	} else {
		code := rand.Text()
		answer.Set("code", code)
		i.mu.Lock()
		i.last = code
		i.codes[code] = request{redirect: redirect.String(), challenge: asked.Get("code_challenge"), nonce: asked.Get("nonce")}
		i.mu.Unlock()
	}
	redirect.RawQuery = answer.Encode()
	http.Redirect(w, r, redirect.String(), http.StatusFound)
}

// token takes a code once.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	behavior := i.now()
	code := r.PostFormValue("code")
	i.mu.Lock()
	i.exchanges++
	asked, known := i.codes[code]
	delete(i.codes, code)
	i.mu.Unlock()
	verifier := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case behavior.TokenStatus != 0:
		// An answer may hold anything, also what was sent.
		write(w, behavior.TokenStatus, map[string]string{"error": behavior.TokenError, "error_description": "of code " + code})
	case !behavior.allows(r):
		write(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
	case !known || r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("redirect_uri") != asked.redirect ||
		base64.RawURLEncoding.EncodeToString(verifier[:]) != asked.challenge:
		write(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "of code " + code})
	default:
		write(w, http.StatusOK, i.tokens(behavior, asked))
	}
}

// allows reports whether the client says who it is as it should.
func (b Behavior) allows(r *http.Request) bool {
	id, secret, header := r.BasicAuth()
	if header == (b.Post || b.Secret == "") {
		return false
	}
	if header { // its parts are escaped, as RFC 6749 has it
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	return id == ClientID && secret == b.Secret
}

func (i *Issuer) tokens(behavior Behavior, asked request) map[string]any {
	opens := rand.Text()
	i.mu.Lock()
	i.opened[opens] = true
	i.mu.Unlock()
	answer := map[string]any{"access_token": opens, "token_type": "Bearer", "expires_in": 300}
	if !behavior.NoIDToken {
		claims := map[string]any{
			"iss": i.URL, "aud": ClientID, "azp": ClientID, "sub": "ann", "tenant": "acme", "role": "operate", "nonce": asked.nonce,
			"exp": time.Now().Add(10 * time.Minute).Unix(), "iat": time.Now().Unix(),
		}
		maps.Copy(claims, behavior.Claims)
		maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
		answer["id_token"] = i.Sign(claims)
	}
	return answer
}

// Sign makes a token of the claims.
func (i *Issuer) Sign(claims map[string]any) string {
	key := i.own
	if i.now().Thief {
		key = i.fake
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		i.tb.Errorf("sign: %v", err)
		return ""
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		i.tb.Errorf("sign: %v", err)
		return ""
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		i.tb.Errorf("sign: %v", err)
		return ""
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.tb.Errorf("sign: %v", err)
	}
	return text
}

func (i *Issuer) userInfo(w http.ResponseWriter, r *http.Request) {
	behavior := i.now()
	shown, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	i.mu.Lock()
	opened := i.opened[shown]
	i.mu.Unlock()
	if !opened || behavior.UserInfo == nil {
		write(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return
	}
	claims := map[string]any{"sub": "ann"}
	maps.Copy(claims, behavior.UserInfo)
	write(w, http.StatusOK, claims)
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone needs none
}
