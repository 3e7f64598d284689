package auth_test

import (
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

func TestASessionStandsForItsKey(t *testing.T) {
	t.Parallel()
	in := install(t)
	key, text := in.key(t)
	cookie, visit, err := in.Login(request(t, http.MethodPost, ""), text)
	require.NoError(t, err)
	require.Equal(t, ann, visit.Authority)
	require.True(t, cookie.HttpOnly)
	require.False(t, cookie.Secure)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, "/", cookie.Path)
	require.EqualValues(t, 12*60*60, cookie.MaxAge)
	with := func(method string, headers ...string) *http.Request {
		r := request(t, method, "", headers...)
		r.AddCookie(cookie)
		return r
	}
	for _, gate := range []*auth.Gate{in.Gate, in.other} {
		visit, err = gate.Enter(with(http.MethodGet))
		require.NoError(t, err)
		require.Equal(t, ann, visit.Authority)
		require.Equal(t, key.ID, visit.Key)
		require.NoError(t, visit.Check(bounded(t)))
	}
	_, _, err = in.Keys.Revoke(bounded(t), key.ID)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return visit.Check(bounded(t)) != nil }, patience, time.Millisecond)
	_, err = in.other.Enter(with(http.MethodGet))
	require.Equal(t, "Cookie", refused(t, err, execution.Unauthenticated).field)
}

func TestOnlyPagesOfThisOriginChangeSomethingWithASession(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, text := in.key(t)
	cookie, _, err := in.Login(request(t, http.MethodPost, ""), text)
	require.NoError(t, err)
	for _, c := range []struct {
		headers []string
		in      bool
	}{
		{nil, false},
		{[]string{"Sec-Fetch-Site", "same-origin"}, true},
		{[]string{"Sec-Fetch-Site", "same-origin", "Origin", "http://pawl.example"}, true},
		{[]string{"Origin", "http://pawl.example"}, true},
		{[]string{"Sec-Fetch-Site", "same-site", "Origin", "http://pawl.example"}, false},
		{[]string{"Sec-Fetch-Site", "cross-site", "Origin", "http://pawl.example"}, false},
		{[]string{"Sec-Fetch-Site", "none"}, false},
		{[]string{"Origin", "http://other.example"}, false},
		{[]string{"Origin", "http://pawl.example.other"}, false},
		{[]string{"Origin", "null"}, false},
		{[]string{"Origin", "http://pawl.example:81"}, false},
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			r := request(t, method, "", c.headers...)
			r.AddCookie(cookie)
			_, err := in.Enter(r)
			if c.in {
				require.NoError(t, err, "%v", c.headers)
				continue
			}
			require.Equal(t, "Origin", refused(t, err, execution.Forbidden).field, "%v", c.headers)
		}
		r := request(t, http.MethodGet, "", c.headers...)
		r.AddCookie(cookie)
		_, err := in.Enter(r)
		require.NoError(t, err, "it only reads: %v", c.headers)
	}
}

func TestASessionEndsWhenItsOwnerLeaves(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, text := in.key(t)
	cookie, _, err := in.Login(request(t, http.MethodPost, ""), text)
	require.NoError(t, err)
	r := request(t, http.MethodGet, "")
	r.AddCookie(cookie)
	visit, err := in.Enter(r)
	require.NoError(t, err)
	gone, err := in.Sessions.End(bounded(t), r)
	require.NoError(t, err)
	require.Negative(t, gone.MaxAge)
	require.Empty(t, gone.Value)
	_, err = in.other.Enter(r)
	refused(t, err, execution.Unauthenticated)
	refused(t, visit.Check(bounded(t)), execution.Unauthenticated)
	_, err = in.Sessions.End(bounded(t), request(t, http.MethodPost, ""))
	require.NoError(t, err, "there is nothing to end")
	_, _, err = in.Login(request(t, http.MethodPost, ""), "pawl_aaaaaaaaaaaa_bbbb")
	refused(t, err, execution.Unauthenticated)
}

func TestACookieIsSecureWhereTheWayIs(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, text := in.key(t)
	behind := request(t, http.MethodPost, "", "X-Forwarded-Proto", "https")
	direct := request(t, http.MethodPost, "")
	direct.TLS = &tls.ConnectionState{}
	for _, r := range []*http.Request{behind, direct} {
		cookie, _, err := in.Login(r, text)
		require.NoError(t, err)
		require.True(t, cookie.Secure)
	}
}

func TestAStreamTokenOpensOneStreamAndDiesWithItsKey(t *testing.T) {
	t.Parallel()
	in := install(t)
	key, text := in.key(t)
	visit, err := in.Enter(request(t, http.MethodPost, text))
	require.NoError(t, err)
	mine, another := execution.NewID(1), execution.NewID(1)
	token, err := in.StreamToken(bounded(t), visit, mine)
	require.NoError(t, err)
	now := in.rdb.Time(bounded(t)).Val()
	require.WithinDuration(t, now.Add(10*time.Minute), time.UnixMilli(token.ExpiresAtMs), time.Minute)
	r := request(t, http.MethodGet, "")
	for _, gate := range []*auth.Gate{in.Gate, in.other} {
		shown, err := gate.Stream(r, token.Token, mine)
		require.NoError(t, err)
		require.Equal(t, ann, shown.Authority)
		_, err = gate.Stream(r, token.Token, another)
		require.Equal(t, "token", refused(t, err, execution.Forbidden).field)
	}
	for _, wrong := range []string{"", "x", token.Token + "x", "pawlstream_", text} {
		_, err = in.Stream(r, wrong, mine)
		require.Equal(t, "token", refused(t, err, execution.Unauthenticated).field)
	}
	_, err = in.Enter(request(t, http.MethodGet, token.Token))
	refused(t, err, execution.Unauthenticated)
	_, _, err = in.Keys.Revoke(bounded(t), key.ID)
	require.NoError(t, err)
	_, err = in.Stream(r, token.Token, mine)
	refused(t, err, execution.Unauthenticated)
	_, err = in.StreamToken(bounded(t), visit, mine)
	require.NoError(t, err, "it is the guard that asks the visit")
}

func TestAStreamTokenOfASessionEndsWithTheSession(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, text := in.key(t)
	cookie, _, err := in.Login(request(t, http.MethodPost, ""), text)
	require.NoError(t, err)
	browser := request(t, http.MethodGet, "")
	browser.AddCookie(cookie)
	session, err := in.Enter(browser)
	require.NoError(t, err)
	id := execution.NewID(1)
	token, err := in.StreamToken(bounded(t), session, id)
	require.NoError(t, err)
	open, err := in.other.Stream(request(t, http.MethodGet, ""), token.Token, id)
	require.NoError(t, err)
	require.NoError(t, open.Check(bounded(t)))
	_, err = in.Sessions.End(bounded(t), browser)
	require.NoError(t, err)
	refused(t, open.Check(bounded(t)), execution.Unauthenticated)
	_, err = in.other.Stream(request(t, http.MethodGet, ""), token.Token, id)
	require.Equal(t, "token", refused(t, err, execution.Unauthenticated).field)
}

func TestAStreamTokenOfAnInstallationWithoutKeysOpensNothingOnceThereAreSome(t *testing.T) {
	t.Parallel()
	rdb, id := redistest.Shared(t).Client(t), execution.NewID(1)
	token, err := auth.Open(rdb).StreamToken(bounded(t), auth.Local(), id)
	require.NoError(t, err)
	keyed, err := auth.New(rdb, auth.Config{})
	require.NoError(t, err)
	_, err = keyed.Stream(request(t, http.MethodGet, ""), token.Token, id)
	refused(t, err, execution.Unauthenticated)
}

func TestWithoutKeysAStreamTokenIsKnownAllTheSame(t *testing.T) {
	t.Parallel()
	local := request(t, http.MethodGet, "")
	local.Host = "localhost:8080"
	id := execution.NewID(1)
	gate := auth.Open(nil)
	token, err := gate.StreamToken(bounded(t), auth.Local(), id)
	require.NoError(t, err)
	visit, err := gate.Stream(local, token.Token, id)
	require.NoError(t, err)
	require.Equal(t, execution.LocalAuthority(), visit.Authority)
	_, err = gate.Stream(request(t, http.MethodGet, ""), token.Token, id)
	refused(t, err, execution.Forbidden)
	_, err = gate.Stream(local, token.Token+"x", id)
	refused(t, err, execution.Unauthenticated)
	_, _, err = gate.Login(local, "pawl_aaaaaaaaaaaa_bbbb")
	refused(t, err, execution.Forbidden)
}
