package auth_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/oidctest"
	"github.com/pawl-run/pawl/internal/redistest"
)

const back = "/dashboard/login/callback"

// signIn is an installation whose browsers may log in at the issuer. It has answered.
func signIn(t *testing.T, i *oidctest.Issuer, change ...func(*auth.IssuerConfig)) installation {
	t.Helper()
	cfg := auth.IssuerConfig{
		URL: i.URL, Audience: "pawl", Retry: 5 * time.Millisecond, Refetch: 50 * time.Millisecond,
		Login:  &auth.LoginConfig{ClientID: oidctest.ClientID, Scopes: []string{"openid", "profile"}, Name: "Example"},
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
	in.issuer = known
	require.Eventually(t, func() bool { return in.IssuerLogout() != "" }, patience, 5*time.Millisecond)
	return in
}

// browser is one that went to the issuer.
type browser struct {
	cookie *http.Cookie
	query  url.Values // what it was sent back with
}

// goes begins a login and follows it to the issuer, which sends it back.
func (in installation) goes(t *testing.T, next string) browser {
	t.Helper()
	departure, err := in.BeginLogin(request(t, http.MethodPost, ""), back, next)
	require.NoError(t, err)
	require.Equal(t, back, departure.Cookie.Path)
	require.True(t, departure.Cookie.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, departure.Cookie.SameSite)
	require.Equal(t, 600, departure.Cookie.MaxAge)
	r, err := http.NewRequestWithContext(bounded(t), http.MethodGet, departure.To, nil)
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusFound, response.StatusCode)
	to, err := response.Location()
	require.NoError(t, err)
	require.Equal(t, "http://pawl.example"+back, to.Scheme+"://"+to.Host+to.Path)
	return browser{cookie: departure.Cookie, query: to.Query()}
}

// returns is the request that it comes back with, with changes of the parameters; an empty one takes a parameter away.
func (b browser) returns(t *testing.T, change ...string) *http.Request {
	t.Helper()
	for n := 0; n+1 < len(change); n += 2 {
		b.query.Set(change[n], change[n+1])
		if change[n+1] == "" {
			b.query.Del(change[n])
		}
	}
	r := httptest.NewRequestWithContext(bounded(t), http.MethodGet, "http://pawl.example"+back+"?"+b.query.Encode(), nil)
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	return r
}

func TestALoginOnTheIssuersPageMakesASession(t *testing.T) {
	t.Parallel()
	for name, behavior := range map[string]oidctest.Behavior{
		"a public client":                {},
		"a secret in the header":         {Secret: "a +%secret"},
		"a secret in the body":           {Secret: "a +%secret", Post: true},
		"claims of the userinfo":         {Claims: map[string]any{"role": nil, "tenant": nil}, UserInfo: map[string]any{"tenant": "acme", "role": []string{"x", "operate"}}},
		"the token counts, not userinfo": {Claims: map[string]any{"role": nil}, UserInfo: map[string]any{"tenant": "other", "role": "operate", "name": "Ann"}},
		"a short-lived token":            {Claims: map[string]any{"exp": time.Now().Add(5 * time.Minute).Unix()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := oidctest.New(t, behavior)
			in := signIn(t, i, func(c *auth.IssuerConfig) { c.Login.ClientSecret = behavior.Secret })
			require.Equal(t, "Example", in.IssuerName())
			b := in.goes(t, "/dashboard/agents?x=1")
			arrival, err := in.other.FinishLogin(b.returns(t), back) // another replica
			require.NoError(t, err)
			require.Equal(t, "/dashboard/agents?x=1", arrival.Next)
			require.Negative(t, arrival.Spent.MaxAge)
			require.Equal(t, back, arrival.Spent.Path)
			require.Equal(t, http.SameSiteStrictMode, arrival.Session.SameSite)
			require.True(t, arrival.Session.HttpOnly)
			require.InDelta(t, auth.SessionTTL.Seconds(), arrival.Session.MaxAge, 60)
			r := request(t, http.MethodGet, "")
			r.AddCookie(arrival.Session)
			visit, err := in.Enter(r)
			require.NoError(t, err)
			require.Equal(t, execution.Authority{
				Caller: execution.CallerScope{Tenant: "acme", Subject: "ann"}, Role: execution.OperateRole,
			}, visit.Authority)
			require.Empty(t, visit.Key)
			require.NoError(t, visit.Check(bounded(t)))
			require.WithinDuration(t, time.Now().Add(auth.SessionTTL), visit.Until, time.Minute)

			requests, _ := i.Exchanges()
			_, err = in.FinishLogin(b.returns(t), back)
			refused(t, err, execution.Unauthenticated)
			again, _ := i.Exchanges()
			require.Equal(t, requests, again, "what was sent back twice does not reach the issuer")
		})
	}
}

func TestALoginThatIsNotTheBrowsersOwnIsRefusedAndStays(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t, oidctest.Behavior{})
	in := signIn(t, i)
	b, other := in.goes(t, "/dashboard/agents"), in.goes(t, "")
	before := redistest.Dump(t, in.rdb, in.prefix)
	forged := *b.cookie
	forged.Value = strings.Replace(forged.Value, ".", ".L2Rhc2hib2FyZC8", 1)
	for name, r := range map[string]*http.Request{
		"no cookie":             browser{query: b.query}.returns(t),
		"another's cookie":      browser{cookie: other.cookie, query: b.query}.returns(t),
		"a cookie of nobody":    browser{cookie: &http.Cookie{Name: auth.LoginCookie, Value: "x.y"}, query: b.query}.returns(t),
		"an empty cookie":       browser{cookie: &http.Cookie{Name: auth.LoginCookie, Value: "."}, query: b.query}.returns(t),
		"another state":         browser{cookie: b.cookie, query: other.query}.returns(t),
		"no state":              browser{cookie: b.cookie, query: url.Values{"code": b.query["code"]}}.returns(t),
		"a cookie with changes": browser{cookie: &forged, query: b.query}.returns(t),
	} {
		arrival, err := in.FinishLogin(r, back)
		require.Contains(t, refused(t, err, execution.Unauthenticated).detail, "begin it again", name)
		require.Nil(t, arrival.Session, name)
		require.Nil(t, arrival.Spent, name)
	}
	requests, _ := i.Exchanges()
	require.Zero(t, requests)
	require.Equal(t, before, redistest.Dump(t, in.rdb, in.prefix))
	_, err := in.FinishLogin(b.returns(t), back)
	require.NoError(t, err, "it was not in the way of the browser's own")
}

// TestWhatTheIssuerSendsMustBeGood: each way in which an issuer, or somebody in its place, can answer wrongly.
func TestWhatTheIssuerSendsMustBeGood(t *testing.T) {
	t.Parallel()
	claims := func(change map[string]any) oidctest.Behavior { return oidctest.Behavior{Claims: change} }
	for name, c := range map[string]struct {
		behavior oidctest.Behavior
		change   []string // of what the browser comes back with
		code     execution.ErrorCode
		says     string
	}{
		"another login's token":            {claims(map[string]any{"nonce": "of yesterday"}), nil, execution.Unauthenticated, "not good for this login"},
		"a token of no login":              {claims(map[string]any{"nonce": nil}), nil, execution.Unauthenticated, "not good"},
		"another issuer's token":           {claims(map[string]any{"iss": "https://login.example"}), nil, execution.Unauthenticated, "not good"},
		"a token for another":              {claims(map[string]any{"aud": "pawl"}), nil, execution.Unauthenticated, "not good"},
		"a token given to another":         {claims(map[string]any{"aud": []string{oidctest.ClientID, "x"}, "azp": "x"}), nil, execution.Unauthenticated, "not good"},
		"an expired token":                 {claims(map[string]any{"exp": time.Now().Add(-time.Second).Unix()}), nil, execution.Unauthenticated, "not good"},
		"a thief's token":                  {oidctest.Behavior{Thief: true}, nil, execution.Unauthenticated, "not good"},
		"no token":                         {oidctest.Behavior{NoIDToken: true}, nil, execution.Unauthenticated, "not good"},
		"a code that nobody gave":          {oidctest.Behavior{}, []string{"code", "invented"}, execution.Unauthenticated, "not good"},
		"no code":                          {oidctest.Behavior{}, []string{"code", ""}, execution.Unauthenticated, "not good"},
		"no role":                          {claims(map[string]any{"role": nil}), nil, execution.Forbidden, "Example says not what you may do here: the claim role"},
		"an unknown role":                  {claims(map[string]any{"role": "admin"}), nil, execution.Forbidden, "want submit, read or operate"},
		"no tenant":                        {claims(map[string]any{"tenant": nil}), nil, execution.Forbidden, "the claim tenant"},
		"somebody else's userinfo":         {oidctest.Behavior{Claims: map[string]any{"role": nil}, UserInfo: map[string]any{"sub": "eve", "role": "operate"}}, nil, execution.Unauthenticated, "not good"},
		"sent back by another":             {oidctest.Behavior{Names: "https://login.example"}, nil, execution.Unauthenticated, "not one of Example"},
		"sent back by nobody":              {oidctest.Behavior{Names: "-"}, nil, execution.Unauthenticated, "not one of Example"},
		"somebody who said no":             {oidctest.Behavior{Error: "access_denied", Description: "Ann said\nno"}, nil, execution.Forbidden, "Example did not let you in (access_denied: Ann said no)"},
		"an issuer that cannot now":        {oidctest.Behavior{Error: "temporarily_unavailable"}, nil, execution.Unavailable, "cannot log anybody in now"},
		"an issuer in trouble":             {oidctest.Behavior{TokenStatus: 500}, nil, execution.Unavailable, "nobody can log in there now"},
		"an unknown client":                {oidctest.Behavior{TokenStatus: 401, TokenError: "invalid_client"}, nil, execution.Unavailable, "nobody can log in there now"},
		"a redirect of the token endpoint": {oidctest.Behavior{TokenStatus: 307}, nil, execution.Unavailable, "nobody can log in there now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := oidctest.New(t, oidctest.Behavior{UserInfo: c.behavior.UserInfo})
			in := signIn(t, i)
			i.Behave(c.behavior)
			b := in.goes(t, "/dashboard/agents")
			arrival, err := in.FinishLogin(b.returns(t, c.change...), back)
			refusal := refused(t, err, c.code)
			require.Contains(t, refusal.detail, c.says)
			require.Nil(t, arrival.Session)
			require.Negative(t, arrival.Spent.MaxAge)
			require.Equal(t, "/dashboard/agents", arrival.Next)
			_, code := i.Exchanges()
			if code != "" {
				require.NotContains(t, refusal.detail, code)
				if refusal.cause != nil {
					require.NotContains(t, refusal.cause.Error(), code)
				}
			}
			keys, err := in.rdb.Keys(bounded(t), in.prefix+":*").Result()
			require.NoError(t, err)
			require.Empty(t, keys, "no session is left, and nothing of the login")
			_, err = in.FinishLogin(b.returns(t), back)
			refused(t, err, execution.Unauthenticated)
		})
	}
}

func TestALoginIsTakenOnceAndWithinTenMinutes(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t, oidctest.Behavior{})
	in := signIn(t, i)
	b := in.goes(t, "")
	var wait sync.WaitGroup
	results := make(chan error, 8)
	for n := range cap(results) {
		gate, r := []*auth.Gate{in.Gate, in.other}[n%2], b.returns(t)
		wait.Go(func() {
			_, err := gate.FinishLogin(r, back)
			results <- err
		})
	}
	wait.Wait()
	close(results)
	taken := 0
	for err := range results {
		if err == nil {
			taken++
			continue
		}
		refused(t, err, execution.Unauthenticated)
	}
	require.Equal(t, 1, taken)
	requests, _ := i.Exchanges()
	require.Equal(t, 1, requests)

	late := in.goes(t, "")
	name := in.prefix + ":logins"
	begun, err := in.rdb.ZRangeWithScores(bounded(t), name, 0, -1).Result()
	require.NoError(t, err)
	require.Len(t, begun, 1)
	require.InDelta(t, in.rdb.Time(bounded(t)).Val().Add(auth.LoginTTL).UnixMilli(), begun[0].Score, 60_000)
	require.NotContains(t, late.cookie.Value, begun[0].Member, "what is stored is a hash")
	require.NoError(t, in.rdb.ZAdd(bounded(t), name, redis.Z{Score: 1, Member: begun[0].Member}).Err())
	_, err = in.FinishLogin(late.returns(t), back)
	refused(t, err, execution.Unauthenticated)
	require.NoError(t, in.rdb.ZAdd(bounded(t), name, redis.Z{Score: 1, Member: "of yesterday"}).Err())
	in.goes(t, "")
	require.EqualValues(t, 1, in.rdb.ZCard(bounded(t), name).Val(), "what is over is not kept")
	require.Positive(t, in.rdb.PTTL(bounded(t), name).Val())
}

// TestLoginsThatNobodyEndsFillNothing: anybody may begin logins.
func TestLoginsThatNobodyEndsFillNothing(t *testing.T) {
	t.Parallel()
	const most = 100_000
	in := signIn(t, oidctest.New(t, oidctest.Behavior{}))
	older := in.goes(t, "")
	name := in.prefix + ":logins"
	now := in.rdb.Time(bounded(t)).Val()
	for from := 0; from < most; from += 10_000 {
		logins := make([]redis.Z, 0, 10_000)
		for n := range 10_000 {
			logins = append(logins, redis.Z{Score: float64(now.Add(auth.LoginTTL).UnixMilli() + int64(from+n)), Member: from + n})
		}
		require.NoError(t, in.rdb.ZAdd(bounded(t), name, logins...).Err())
	}
	require.EqualValues(t, most+1, in.rdb.ZCard(bounded(t), name).Val())
	_, err := in.BeginLogin(request(t, http.MethodPost, ""), back, "")
	require.NoError(t, err)
	require.EqualValues(t, most, in.rdb.ZCard(bounded(t), name).Val())
	_, err = in.FinishLogin(older.returns(t), back)
	refused(t, err, execution.Unauthenticated)
}

func TestWhereBrowsersAreSentBack(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t, oidctest.Behavior{})
	at := func(in installation, headers ...string) string {
		departure, err := in.BeginLogin(request(t, http.MethodPost, "", headers...), back, strings.Repeat("x", 5000))
		require.NoError(t, err)
		require.Less(t, len(departure.Cookie.Value), 3500)
		require.Equal(t, len(headers) > 0, departure.Cookie.Secure)
		to, err := url.Parse(departure.To)
		require.NoError(t, err)
		require.Equal(t, "openid profile", to.Query().Get("scope"))
		require.Equal(t, "S256", to.Query().Get("code_challenge_method"))
		return to.Query().Get("redirect_uri")
	}
	in := signIn(t, i)
	require.Equal(t, "http://pawl.example"+back, at(in))
	require.Equal(t, "https://pawl.example"+back, at(in, "X-Forwarded-Proto", "https"))
	in = signIn(t, i, func(c *auth.IssuerConfig) { c.Login.RedirectURL = "https://pawl.acme.example" + back })
	require.Equal(t, "https://pawl.acme.example"+back, at(in))
}

func TestALoginNeedsAnIssuerThatAnswers(t *testing.T) {
	t.Parallel()
	in := install(t)
	require.Empty(t, in.IssuerName())
	require.Empty(t, in.IssuerLogout())
	_, err := in.BeginLogin(request(t, http.MethodPost, ""), back, "")
	refused(t, err, execution.Forbidden)
	_, err = in.FinishLogin(request(t, http.MethodGet, ""), back)
	refused(t, err, execution.Forbidden)

	silent, err := auth.NewIssuer(auth.IssuerConfig{
		URL: "http://127.0.0.1:1", Audience: "pawl", Login: &auth.LoginConfig{ClientID: "x"},
	})
	require.NoError(t, err)
	in = install(t, func(c *auth.Config) { c.Issuer = silent })
	require.Equal(t, "127.0.0.1:1", in.IssuerName())
	require.Empty(t, in.IssuerLogout())
	_, err = in.BeginLogin(request(t, http.MethodPost, ""), back, "")
	refused(t, err, execution.Unavailable)
	_, err = in.FinishLogin(request(t, http.MethodGet, ""), back)
	refused(t, err, execution.Unavailable)
}

// logged is what a gate's goroutines write.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestAnIssuerWithoutALoginPageStillMakesTokens: what it lacks is said once, loudly.
func TestAnIssuerWithoutALoginPageStillMakesTokens(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.endpoints = map[string]any{"authorization_endpoint": nil}
	by := newSigner(t, "a", "ES256")
	i.publish(by)
	var log logged
	in := trusting(t, i, func(c *auth.IssuerConfig) {
		c.Login, c.Logger = &auth.LoginConfig{ClientID: "x"}, slog.New(slog.NewTextHandler(&log, nil))
	})
	require.NoError(t, in.from(i.token(by, nil), 1))
	require.Contains(t, log.String(), "authorization_endpoint")
	_, err := in.BeginLogin(request(t, http.MethodPost, ""), back, "")
	refused(t, err, execution.Unavailable)
}

func TestNewIssuer_ChecksItsLogin(t *testing.T) {
	t.Parallel()
	for says, login := range map[string]auth.LoginConfig{
		"ClientID": {}, "RedirectURL": {ClientID: "x", RedirectURL: "/dashboard"},
	} {
		_, err := auth.NewIssuer(auth.IssuerConfig{URL: "https://login.example", Audience: "pawl", Login: &login})
		require.ErrorContains(t, err, says)
	}
}
