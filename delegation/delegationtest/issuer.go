// Package delegationtest gives tests a real authorization server that exchanges tokens: the OpenID provider of zitadel/oidc,
// which was written by others and knows nothing of Pawl.
package delegationtest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
)

// The client that Pawl is at the server, and the users that may and may not delegate.
const (
	ClientID     = "pawl"
	ClientSecret = "client-secret-that-nobody-sees"
	User         = "id1"
	Powerless    = "id2"
	Other        = "id3" // may delegate as well
)

// Issuer is an authorization server under test.
type Issuer struct {
	URL string

	server *httptest.Server

	mu       sync.Mutex       // the storage is not safe for concurrent use
	storage  *storage.Storage // guarded by mu
	provider *op.Provider     // guarded by mu

	// Exchanges, Refreshes and Revocations count the requests that were taken.
	Exchanges, Refreshes, Revocations atomic.Int64
	// Down has every request answered with 503 while it is set.
	Down atomic.Bool

	held atomic.Pointer[held]
}

// held is an exchange that waits.
type held struct{ entered, released chan struct{} }

// Hold has the next exchange wait: entered is closed when the server was asked for it, and it is carried out after release.
func (i *Issuer) Hold() (entered <-chan struct{}, release func()) {
	next := &held{entered: make(chan struct{}), released: make(chan struct{})}
	i.held.Store(next)
	return next.entered, func() { close(next.released) }
}

// Start runs a server on loopback until the test ends.
func Start(tb testing.TB) *Issuer {
	tb.Helper()
	i := &Issuer{}
	i.server = httptest.NewServer(http.HandlerFunc(i.serve))
	tb.Cleanup(i.server.Close)
	i.URL = i.server.URL
	i.storage = storage.NewStorageWithClients(users{storage.NewUserStore(i.URL)}, map[string]*storage.Client{
		ClientID: storage.WebClient(ClientID, ClientSecret),
	})
	provider, err := op.NewProvider(&op.Config{
		CryptoKey: [32]byte{1}, CryptoKeyId: "1", CodeMethodS256: true, GrantTypeRefreshToken: true,
	}, policy{i.storage}, op.StaticIssuer(i.URL), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(tb, err)
	i.provider = provider
	return i
}

// users are the storage's own, and one more.
type users struct{ storage.UserStore }

// GetUserByID knows Other as well.
func (u users) GetUserByID(id string) *storage.User {
	if id != Other {
		return u.UserStore.GetUserByID(id)
	}
	return &storage.User{ID: Other, Username: "test-user3", IsAdmin: true}
}

// policy answers as a server should to a user who may not delegate: the storage's own error is taken for a fault.
type policy struct{ *storage.Storage }

// ValidateTokenExchangeRequest refuses with invalid_request, as RFC 8693 says in section 2.2.2.
func (p policy) ValidateTokenExchangeRequest(ctx context.Context, request op.TokenExchangeRequest) error {
	if err := p.Storage.ValidateTokenExchangeRequest(ctx, request); err != nil {
		return oidc.ErrInvalidRequest().WithParent(err)
	}
	return nil
}

// GetPrivateClaimsFromScopes says in tokens who the user is at Pawl.
func (p policy) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return map[string]any{"tenant": "acme", "role": "submit"}, nil
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	if i.Down.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if r.Method == http.MethodPost {
		i.count(r)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.provider.ServeHTTP(w, r)
}

func (i *Issuer) count(r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/revoke"):
		i.Revocations.Add(1)
	case r.ParseForm() != nil:
	case r.PostForm.Get("grant_type") == string(oidc.GrantTypeTokenExchange):
		i.Exchanges.Add(1)
		if waits := i.held.Swap(nil); waits != nil {
			close(waits.entered)
			<-waits.released
		}
	case r.PostForm.Get("grant_type") == string(oidc.GrantTypeRefreshToken):
		i.Refreshes.Add(1)
	}
}

// TokenURL and RevokeURL are the server's endpoints.
func (i *Issuer) TokenURL() string { return i.URL + "/oauth/token" }

// RevokeURL is where tokens are revoked.
func (i *Issuer) RevokeURL() string { return i.URL + "/revoke" }

// request asks the storage for a token of a user.
type request struct{ user string }

func (r request) GetSubject() string    { return r.user }
func (r request) GetAudience() []string { return []string{ClientID} }
func (r request) GetScopes() []string   { return []string{oidc.ScopeOpenID, oidc.ScopeProfile} }

// SignIn is an access token of the user, as a login would give.
func (i *Issuer) SignIn(tb testing.TB, user string) execution.Credential {
	tb.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	id, _, err := i.storage.CreateAccessToken(context.Background(), request{user: user})
	require.NoError(tb, err)
	token, err := i.provider.Crypto().Encrypt(id + ":" + user)
	require.NoError(tb, err)
	return execution.NewCredential(token)
}

// SignInJWT is an access token of the user as a JWT, which names a tenant and a role as Pawl reads them.
func (i *Issuer) SignInJWT(tb testing.TB, user string) execution.Credential {
	tb.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	id, expires, err := i.storage.CreateAccessToken(context.Background(), request{user: user})
	require.NoError(tb, err)
	token, err := op.CreateJWT(context.Background(), i.URL, request{user: user}, expires, id,
		storage.RedirectGlobsClient(storage.WebClient(ClientID, ClientSecret)), policy{i.storage})
	require.NoError(tb, err)
	return execution.NewCredential(token)
}

// Good reports whether the server takes the token now.
func (i *Issuer) Good(tb testing.TB, token execution.Credential) bool {
	tb.Helper()
	return i.Who(tb, token) != ""
}

// Who is the user whose token it is; empty when the server does not take it now.
func (i *Issuer) Who(tb testing.TB, token execution.Credential) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 10*time.Second)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, i.URL+"/userinfo", http.NoBody)
	require.NoError(tb, err)
	ask.Header.Set("Authorization", "Bearer "+token.Reveal())
	answer, err := http.DefaultClient.Do(ask)
	require.NoError(tb, err)
	defer func() { _ = answer.Body.Close() }() // it was read
	var user struct {
		Subject string `json:"sub"`
	}
	if answer.StatusCode == http.StatusOK {
		require.NoError(tb, json.NewDecoder(answer.Body).Decode(&user))
	}
	return user.Subject
}

// End revokes a token at the server, which nobody at Pawl is told.
func (i *Issuer) End(tb testing.TB, token execution.Credential) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 10*time.Second)
	defer cancel()
	form := url.Values{"token": {token.Reveal()}, "token_type_hint": {"access_token"}}
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, i.RevokeURL(), strings.NewReader(form.Encode()))
	require.NoError(tb, err)
	ask.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	ask.SetBasicAuth(ClientID, ClientSecret)
	answer, err := http.DefaultClient.Do(ask)
	require.NoError(tb, err)
	require.NoError(tb, answer.Body.Close())
	require.False(tb, i.Good(tb, token))
}

// Config is that of a broker at this server.
func (i *Issuer) Config(vault delegation.Vault, keys *delegation.Keyring) delegation.ExchangeConfig {
	return delegation.ExchangeConfig{
		TokenURL: i.TokenURL(), RevokeURL: i.RevokeURL(), ClientID: ClientID,
		ClientSecret: execution.NewCredential(ClientSecret), RequestedTokenType: delegation.RefreshTokenType,
		Allowed: delegation.Allowed{Scopes: []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeOfflineAccess}},
		Vault:   vault, Keyring: keys, Logger: slog.New(slog.DiscardHandler),
	}
}

// Key is a key to seal with.
func Key(n byte) string { return fmt.Sprintf("%s=", strings.Repeat(string('A'+rune(n)), 43)) }
