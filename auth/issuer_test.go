package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// issuer is an OpenID Connect issuer: it says what it is, and gives its keys.
type issuer struct {
	*httptest.Server
	t       *testing.T
	fetched atomic.Int64 // how often its keys were
	silent  atomic.Bool
	// endpoints change its document; nil takes one away. Set before it is asked.
	endpoints map[string]any

	mu   sync.Mutex
	keys jose.JSONWebKeySet
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		document := map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth",
			"token_endpoint": i.URL + "/token", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		}
		maps.Copy(document, i.endpoints)
		_ = json.NewEncoder(w).Encode(document)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.fetched.Add(1)
		i.mu.Lock()
		defer i.mu.Unlock()
		_ = json.NewEncoder(w).Encode(i.keys)
	})
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.silent.Load() {
			http.Error(w, "closed for today", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

// signer is a private key under a name.
type signer struct {
	id  string
	alg jose.SignatureAlgorithm
	key crypto.Signer
}

func newSigner(t *testing.T, id string, alg jose.SignatureAlgorithm) signer {
	t.Helper()
	s := signer{id: id, alg: alg}
	var err error
	if alg == jose.ES256 {
		s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		s.key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	require.NoError(t, err)
	return s
}

// publish makes the signers' keys those of the issuer, and no others.
func (i *issuer) publish(signers ...signer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys.Keys = nil
	for _, s := range signers {
		i.keys.Keys = append(i.keys.Keys, jose.JSONWebKey{Key: s.key.Public(), KeyID: s.id, Algorithm: string(s.alg), Use: "sig"})
	}
}

// claims are those of a good token, with changes; nil takes one away.
func (i *issuer) claims(change map[string]any) map[string]any {
	claims := map[string]any{
		"iss": i.URL, "aud": "pawl", "sub": "ann", "tenant": "acme", "role": "submit",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
	}
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

func (i *issuer) token(by signer, change map[string]any) string {
	i.t.Helper()
	return sign(i.t, by.alg, jose.JSONWebKey{Key: by.key, KeyID: by.id}, i.claims(change))
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
	require.NoError(t, err)
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := made.Sign(payload)
	require.NoError(t, err)
	text, err := signed.CompactSerialize()
	require.NoError(t, err)
	return text
}

// trusting is an installation that takes the issuer's tokens. It returns when it does, unless the issuer is silent.
func trusting(t *testing.T, i *issuer, change ...func(*auth.IssuerConfig)) installation {
	t.Helper()
	cfg := auth.IssuerConfig{
		URL: i.URL, Audience: "pawl", Retry: 5 * time.Millisecond, Refetch: 50 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler), Client: &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	for _, f := range change {
		f(&cfg)
	}
	known, err := auth.NewIssuer(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- known.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	in := install(t, func(c *auth.Config) { c.Issuer = known })
	if !i.silent.Load() {
		in.answers(t, i)
	}
	return in
}

// answers waits until the issuer was heard.
func (in installation) answers(t *testing.T, i *issuer) {
	t.Helper()
	stranger := newSigner(t, "stranger", jose.ES256)
	n := 0
	require.Eventually(t, func() bool {
		n++
		return codeOf(in.from(i.token(stranger, nil), n)) != execution.Unavailable
	}, patience, 5*time.Millisecond)
}

// from enters with a credential, from the n-th address.
func (in installation) from(credential string, n int) error {
	r := httptest.NewRequest(http.MethodGet, "http://pawl.example/v1/executions", nil)
	r.Header.Set("Authorization", "Bearer "+credential)
	r.RemoteAddr = "10.0." + string(rune('0'+n/200%10)) + "." + string(rune('0'+n%10)) + ":1"
	_, err := in.Enter(r)
	return err
}

func codeOf(err error) execution.ErrorCode {
	api, _ := err.(*execution.APIError) //nolint:errorlint // the gate wraps none
	if api == nil {
		return ""
	}
	return api.Code
}

func TestATokenOfTheIssuerNamesItsCaller(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	rs, es := newSigner(t, "rs", jose.RS256), newSigner(t, "es", jose.ES256)
	i.publish(rs, es)
	in := trusting(t, i)
	for _, by := range []signer{rs, es} {
		visit, err := in.Enter(request(t, http.MethodPost, i.token(by, nil)))
		require.NoError(t, err)
		isAnn(t, visit)
		require.Empty(t, visit.Key)
		require.NoError(t, visit.Check(bounded(t)))
		require.WithinDuration(t, time.Now().Add(time.Hour), visit.Until, time.Minute)
	}
	for _, c := range []struct {
		claims map[string]any
		want   execution.CallerRole
	}{
		{map[string]any{"role": []string{"user", "read"}}, execution.ReadRole},
		{map[string]any{"role": []string{"submit", "operate", "read"}}, execution.OperateRole},
		{map[string]any{"role": "read", "tenant": "*"}, execution.ReadRole},
		{map[string]any{"aud": []string{"other", "pawl"}}, execution.SubmitRole},
	} {
		visit, err := in.Enter(request(t, http.MethodGet, i.token(rs, c.claims)))
		require.NoError(t, err, "%v", c.claims)
		require.Equal(t, c.want, visit.Authority.Role)
	}
	_, text := in.key(t)
	_, err := in.Enter(request(t, http.MethodGet, text))
	require.NoError(t, err, "keys are taken beside tokens")
}

func TestATokenThatNamesNoCallerIsForbidden(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	by := newSigner(t, "a", jose.ES256)
	i.publish(by)
	in := trusting(t, i)
	for _, claims := range []map[string]any{
		{"role": nil},
		{"role": "admin"},
		{"role": []string{"read", "submit"}},
		{"role": 7},
		{"tenant": nil},
		{"tenant": 7},
		{"tenant": ""},
		{"tenant": "a\nb"},
		{"sub": nil},
		{"tenant": "*"},
	} {
		_, err := in.Enter(request(t, http.MethodGet, i.token(by, claims)))
		require.Equal(t, "Authorization", refused(t, err, execution.Forbidden).field, "%v", claims)
	}
}

func TestATokenThatIsNotTheIssuersForPawlIsRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	by, thief := newSigner(t, "a", jose.RS256), newSigner(t, "a", jose.RS256)
	i.publish(by)
	in := trusting(t, i)
	public, err := x509.MarshalPKIXPublicKey(by.key.Public())
	require.NoError(t, err)
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	payload, err := json.Marshal(i.claims(nil))
	require.NoError(t, err)
	good := i.token(by, nil)
	for name, token := range map[string]string{
		"another audience": i.token(by, map[string]any{"aud": "other"}),
		"no audience":      i.token(by, map[string]any{"aud": nil}),
		"another issuer":   i.token(by, map[string]any{"iss": "https://login.example"}),
		"expired":          i.token(by, map[string]any{"exp": time.Now().Add(-time.Second).Unix()}),
		"without end":      i.token(by, map[string]any{"exp": nil}),
		"of tomorrow":      i.token(by, map[string]any{"nbf": time.Now().Add(24 * time.Hour).Unix()}),
		"of a thief":       i.token(thief, nil),
		"signed with the public key as a shared secret": sign(t, jose.HS256, jose.JSONWebKey{Key: public, KeyID: "a"}, i.claims(nil)),
		"not signed":       encode(`{"alg":"none"}`) + "." + encode(string(payload)) + ".",
		"with a cut tail":  good[:len(good)-4],
		"of nothing":       "..",
		"with another end": good + "x",
	} {
		_, err := in.Enter(request(t, http.MethodGet, token))
		api := refused(t, err, execution.Unauthenticated)
		require.Equal(t, "Authorization", api.field, name)
	}
}

func TestClaimsMayLieDeeper(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	by := newSigner(t, "a", jose.ES256)
	i.publish(by)
	in := trusting(t, i, func(c *auth.IssuerConfig) {
		c.TenantClaim, c.SubjectClaim, c.RoleClaim = "https://example.com/org", "email", "realm_access.roles"
	})
	visit, err := in.Enter(request(t, http.MethodGet, i.token(by, map[string]any{
		"https://example.com/org": "acme", "email": "ann", "realm_access": map[string]any{"roles": []string{"offline", "submit"}},
	})))
	require.NoError(t, err)
	isAnn(t, visit)
	_, err = in.Enter(request(t, http.MethodGet, i.token(by, map[string]any{"realm_access": "submit"})))
	refused(t, err, execution.Forbidden)
}

func TestKeysRotatedAtTheIssuerAreFollowed(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	before, after := newSigner(t, "before", jose.ES256), newSigner(t, "after", jose.ES256)
	i.publish(before)
	in := trusting(t, i)
	old := i.token(before, nil)
	require.Eventually(t, func() bool { return in.from(old, 1) == nil }, patience, 5*time.Millisecond)
	i.publish(after)
	fresh := i.token(after, nil)
	n := 0
	require.Eventually(t, func() bool { n++; return in.from(fresh, n) == nil }, patience, 5*time.Millisecond)
	require.Equal(t, execution.Unauthenticated, codeOf(in.from(old, 3)), "the old key is not trusted any more")
}

func TestTokensThatNameNoKeyDoNotMakeTheIssuerBusy(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	by, stranger := newSigner(t, "a", jose.ES256), newSigner(t, "nobody", jose.ES256)
	i.publish(by)
	in := trusting(t, i, func(c *auth.IssuerConfig) { c.Refetch = time.Hour })
	before := i.fetched.Load()
	bad, good := i.token(stranger, nil), i.token(by, nil)
	for n := range 100 {
		require.Contains(t, []execution.ErrorCode{execution.Unauthenticated, execution.Overloaded}, codeOf(in.from(bad, n)))
		require.NoError(t, in.from(good, n))
	}
	require.LessOrEqual(t, i.fetched.Load()-before, int64(1))
}

func TestAnIssuerThatIsNotThereIsAwaited(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	by := newSigner(t, "a", jose.ES256)
	i.publish(by)
	i.silent.Store(true)
	in := trusting(t, i)
	token := i.token(by, nil)
	for n := range 30 {
		require.Equal(t, execution.Unavailable, codeOf(in.from(token, n)))
	}
	_, text := in.key(t)
	require.NoError(t, in.from(text, 1), "keys need no issuer")
	i.silent.Store(false)
	require.Eventually(t, func() bool { return in.from(token, 1) == nil }, patience, 5*time.Millisecond)
	i.silent.Store(true)
	require.NoError(t, in.from(token, 1), "its keys are known")
	other := i.token(newSigner(t, "b", jose.ES256), nil)
	require.Eventually(t, func() bool { return codeOf(in.from(other, 1)) == execution.Unavailable }, patience, 5*time.Millisecond,
		"whether it has such a key cannot be found out")
}

func TestWhatATokenOpenedEndsWithIt(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	by := newSigner(t, "a", jose.ES256)
	i.publish(by)
	in := trusting(t, i)
	short := i.token(by, map[string]any{"exp": time.Now().Add(2 * time.Second).Unix()})
	visit, err := in.Enter(request(t, http.MethodPost, short))
	require.NoError(t, err)
	id := execution.NewID(1)
	token, err := in.StreamToken(bounded(t), visit, id)
	require.NoError(t, err)
	require.Less(t, token.ExpiresAtMs, in.rdb.Time(bounded(t)).Val().Add(5*time.Second).UnixMilli())
	cookie, _, err := in.Login(request(t, http.MethodPost, ""), short)
	require.NoError(t, err)
	require.LessOrEqual(t, cookie.MaxAge, 2)
	stream, err := in.Stream(request(t, http.MethodGet, ""), token.Token, id)
	require.NoError(t, err)
	for _, opened := range []*auth.Visit{visit, stream} {
		require.Eventually(t, func() bool { return opened.Check(bounded(t)) != nil }, patience, 10*time.Millisecond)
		refused(t, opened.Check(bounded(t)), execution.Unauthenticated)
	}
	require.Eventually(t, func() bool {
		_, err := in.Stream(request(t, http.MethodGet, ""), token.Token, id)
		return err != nil
	}, patience, 10*time.Millisecond)
	_, err = in.StreamToken(bounded(t), visit, id)
	refused(t, err, execution.Unauthenticated)
}

// isAnn requires that the visit is hers, by a token that can be exchanged.
func isAnn(t *testing.T, visit *auth.Visit) {
	t.Helper()
	require.False(t, visit.Authority.Credential.IsZero())
	authority := visit.Authority
	authority.Credential = execution.Credential{}
	require.Equal(t, ann, authority)
}
