package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/redistest"
)

// issuerOf serves an OpenID Connect issuer with one key and gives what signs its tokens.
func issuerOf(t *testing.T) (url string, token func(claims map[string]any) string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": server.URL, "jwks_uri": server.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256"}}})
	})
	return server.URL, func(claims map[string]any) string {
		signer, err := jose.NewSigner(jose.SigningKey{
			Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"},
		}, nil)
		require.NoError(t, err)
		claims["iss"], claims["aud"], claims["exp"] = server.URL, "pawl", time.Now().Add(time.Hour).Unix()
		payload, err := json.Marshal(claims)
		require.NoError(t, err)
		signed, err := signer.Sign(payload)
		require.NoError(t, err)
		text, err := signed.CompactSerialize()
		require.NoError(t, err)
		return text
	}
}

func TestNewAccess_TakesTokensOfTheIssuerByTheClaimsThatAreNamed(t *testing.T) {
	t.Parallel()
	url, token := issuerOf(t)
	rdb := redistest.Start(t).Client(t)
	access, err := newAccess(t.Context(), rdb, config.Auth{
		Auth: config.AuthKeys, OIDCIssuer: url, OIDCAudience: "pawl", OIDCTenant: "org.id", OIDCSubject: "email", OIDCRole: "roles",
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- access.run(ctx) }()
	r := httptest.NewRequest(http.MethodGet, "/v1/executions", nil)
	r.Header.Set("Authorization", "Bearer "+token(map[string]any{
		"org": map[string]string{"id": "acme"}, "email": "ann@acme.example", "roles": []string{"staff", "operate"},
	}))
	var visit *auth.Visit
	require.Eventually(t, func() bool {
		visit, err = access.gate.Enter(r)
		return err == nil
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, execution.CallerScope{Tenant: "acme", Subject: "ann@acme.example"}, visit.Authority.Caller)
	require.Equal(t, execution.OperateRole, visit.Authority.Role)
	stop()
	require.NoError(t, <-done)
}

func TestNewAccess_SaysWhenKeysAndSettingsDoNotGoTogether(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	said := func(mode config.AuthMode) string {
		var log bytes.Buffer
		_, err := newAccess(t.Context(), rdb, config.Auth{Auth: mode}, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		return log.String()
	}
	require.Empty(t, said(config.AuthNone))
	require.Contains(t, said(config.AuthKeys), "there is no API key")
	keys, err := auth.NewKeys(rdb, auth.KeysConfig{})
	require.NoError(t, err)
	_, _, err = keys.Create(t.Context(), auth.NewKey{Tenant: "acme", Subject: "ann", Role: execution.ReadRole})
	require.NoError(t, err)
	require.Empty(t, said(config.AuthKeys))
	require.Contains(t, said(config.AuthNone), "level=WARN msg=\"API KEYS EXIST AND NOBODY IS ASKED FOR ONE")
}

func TestNewAccess_OffersTheIssuersPageWhenThereIsAClient(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	cfg := config.Auth{Auth: config.AuthKeys, OIDCIssuer: "http://127.0.0.1:1", OIDCAudience: "pawl"}
	for name, login := range map[string]config.OIDCLogin{
		"": {}, "127.0.0.1:1": {ClientID: "pawl-dashboard"}, "Example": {ClientID: "pawl-dashboard", Name: "Example"},
	} {
		cfg.OIDCLogin = login
		access, err := newAccess(t.Context(), rdb, cfg, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.Equal(t, name, access.gate.IssuerName())
	}
}
