package dashboard_test

import (
	"context"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/oidctest"
	"github.com/pawl-run/pawl/internal/redistest"
)

// withIssuer serves the pages to people whom the issuer knows. It has answered.
func withIssuer(t *testing.T, i *oidctest.Issuer) *site {
	t.Helper()
	known, err := auth.NewIssuer(auth.IssuerConfig{
		URL: i.URL, Audience: "pawl", Login: &auth.LoginConfig{ClientID: oidctest.ClientID, Name: "Example & Sons"},
		Retry: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- known.Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	s := open(t, redistest.Shared(t).Client(t), true, func(c *auth.Config) { c.Issuer = known })
	require.Eventually(t, func() bool { return s.gate.IssuerLogout() != "" }, 30*time.Second, 5*time.Millisecond)
	return s
}

var refresh = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]+)">`)

// onward is where a page goes on to by itself.
func (v *visitor) onward(got answer) string {
	v.site.t.Helper()
	require.Equal(v.site.t, http.StatusOK, got.StatusCode, got.body)
	strict(v.site.t, got)
	found := refresh.FindStringSubmatch(got.body)
	require.NotNil(v.site.t, found, got.body)
	return html.UnescapeString(found[1])
}

// toIssuer begins a login, keeps its cookie, and gives where the issuer sends the browser back to: path and query.
func (v *visitor) toIssuer(next string) string {
	v.site.t.Helper()
	got := v.send(http.MethodPost, "/dashboard/login/issuer", url.Values{"next": {next}})
	to := v.onward(got)
	v.cookies = got.Cookies()
	r, err := http.NewRequestWithContext(v.site.t.Context(), http.MethodGet, to, nil)
	require.NoError(v.site.t, err)
	response, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(v.site.t, err)
	require.NoError(v.site.t, response.Body.Close())
	place, err := response.Location()
	require.NoError(v.site.t, err)
	require.Equal(v.site.t, v.site.URL, place.Scheme+"://"+place.Host)
	return place.RequestURI()
}

func TestALoginOnTheIssuersPageLeadsBack(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t, oidctest.Behavior{})
	s := withIssuer(t, i)
	v := &visitor{site: s}
	login := v.page("/dashboard/login?next=%2Fdashboard%2Fagents%3Fx%3D1")
	require.Contains(t, login, "Log in with Example &amp; Sons")
	require.Equal(t, 2, strings.Count(login, `name="next" value="/dashboard/agents?x=1"`))

	place := v.toIssuer("/dashboard/agents?x=1")
	require.Len(t, v.cookies, 1)
	got := v.get(place, "Sec-Fetch-Site", "cross-site")
	require.Equal(t, "/dashboard/agents?x=1", v.onward(got))
	require.Equal(t, "no-referrer", got.Header.Get("Referrer-Policy"))
	_, code := i.Exchanges()
	require.NotEmpty(t, code)
	require.NotContains(t, got.body, code)
	require.Contains(t, place, code)
	cookies := map[string]*http.Cookie{}
	for _, cookie := range got.Cookies() {
		cookies[cookie.Name] = cookie
	}
	session := cookies[auth.SessionCookie]
	require.True(t, session.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, session.SameSite)
	require.InDelta(t, auth.SessionTTL.Seconds(), session.MaxAge, 60)
	require.Negative(t, cookies[auth.LoginCookie].MaxAge)

	begun := v.cookies
	v.cookies = []*http.Cookie{session}
	require.Contains(t, v.page("/dashboard/agents?x=1"), "acme · operate")
	got = v.send(http.MethodPost, "/dashboard/logout", nil)
	require.Equal(t, "/dashboard/login?left=issuer", got.Header.Get("Location"))
	left := v.page("/dashboard/login?left=issuer")
	require.Contains(t, left, `href="`+i.URL+`/logout?client_id=`+oidctest.ClientID+`"`)
	require.NotContains(t, v.page("/dashboard/login"), "/logout?")
	require.Equal(t, http.StatusSeeOther, v.get("/dashboard/").StatusCode, "the session has ended")

	v.cookies = begun
	got = v.get(place)
	require.Equal(t, http.StatusUnauthorized, got.StatusCode, "a code opens one session")
	strict(t, got)
	require.NotContains(t, got.body, code)
	require.Empty(t, got.Cookies())

	byKey := s.login("acme", "ann", execution.OperateRole)
	require.Equal(t, "/dashboard/login", byKey.send(http.MethodPost, "/dashboard/logout", nil).Header.Get("Location"))
}

func TestALoginOnTheIssuersPageLeadsToPagesAlone(t *testing.T) {
	t.Parallel()
	s := withIssuer(t, oidctest.New(t, oidctest.Behavior{}))
	for _, next := range []string{
		"https://evil.example/dashboard/", "//evil.example/dashboard/", "/monitoring", "/dashboard/../v1/x", "/dashboard/\\evil", "",
		"/dashboard/login/callback?code=x", "/dashboard/" + strings.Repeat("x", 3000), "javascript:alert(1)",
	} {
		v := &visitor{site: s}
		require.Equal(t, "/dashboard/", v.onward(v.get(v.toIssuer(next))), next)
	}
	v := &visitor{site: s}
	place := v.toIssuer("/dashboard/agents")
	v.cookies[0].Value = strings.Split(v.cookies[0].Value, ".")[0] + "." // another place, by whoever can write cookies
	require.Equal(t, http.StatusUnauthorized, v.get(place).StatusCode)
}

func TestWhatTheIssuerRefusesIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		behavior oidctest.Behavior
		status   int
		says     string
	}{
		"no":      {oidctest.Behavior{Error: "access_denied", Description: "<b>Not you</b>"}, http.StatusForbidden, "Example &amp; Sons did not let you in (access_denied: &lt;b&gt;Not you&lt;/b&gt;)"},
		"no role": {oidctest.Behavior{Claims: map[string]any{"role": "admin"}}, http.StatusForbidden, "says not what you may do here"},
		"expired": {oidctest.Behavior{Claims: map[string]any{"exp": 1}}, http.StatusUnauthorized, "begin it again"},
		"broken":  {oidctest.Behavior{TokenStatus: http.StatusBadGateway}, http.StatusServiceUnavailable, "nobody can log in there now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := oidctest.New(t, oidctest.Behavior{})
			s := withIssuer(t, i)
			i.Behave(c.behavior)
			v := &visitor{site: s}
			place := v.toIssuer("/dashboard/agents")
			got := v.get(place)
			require.Equal(t, c.status, got.StatusCode)
			strict(t, got)
			require.Contains(t, got.body, c.says)
			require.Contains(t, got.body, "Log in with Example")
			require.Contains(t, got.body, `name="next" value="/dashboard/agents"`)
			require.Contains(t, got.body, `data-here="/dashboard/login"`)
			for _, secret := range strings.Split(strings.TrimPrefix(place, "/dashboard/login/callback?"), "&") {
				if name, value, _ := strings.Cut(secret, "="); name == "code" || name == "state" {
					require.NotContains(t, got.body, value, name)
				}
			}
			for _, cookie := range got.Cookies() {
				require.Equal(t, auth.LoginCookie, cookie.Name)
				require.Negative(t, cookie.MaxAge)
			}
		})
	}
}

func TestALoginIsBegunByAPageOfThisOrigin(t *testing.T) {
	t.Parallel()
	s := withIssuer(t, oidctest.New(t, oidctest.Behavior{}))
	v := &visitor{site: s}
	before := redistest.Dump(t, s.rdb, s.prefix)
	for _, headers := range [][]string{
		{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "", "Sec-Fetch-Site", ""},
	} {
		got := v.send(http.MethodPost, "/dashboard/login/issuer", nil, headers...)
		require.Equal(t, http.StatusForbidden, got.StatusCode)
		require.Empty(t, got.Cookies())
	}
	require.Equal(t, http.StatusNotFound, v.get("/dashboard/login/issuer").StatusCode)
	got := v.get("/dashboard/login/callback?code=x&state=y")
	require.Equal(t, http.StatusUnauthorized, got.StatusCode)
	strict(t, got)
	require.Equal(t, before, redistest.Dump(t, s.rdb, s.prefix))
}

func TestWithoutAClientNobodyIsOfferedTheIssuersPage(t *testing.T) {
	t.Parallel()
	for _, keys := range []bool{true, false} {
		v := &visitor{site: open(t, redistest.Shared(t).Client(t), keys)}
		if keys {
			require.NotContains(t, v.page("/dashboard/login?left=issuer"), "Log in with")
		}
		require.Equal(t, http.StatusForbidden, v.send(http.MethodPost, "/dashboard/login/issuer", nil).StatusCode)
		require.Equal(t, http.StatusForbidden, v.get("/dashboard/login/callback?code=x&state=y").StatusCode)
	}
}
