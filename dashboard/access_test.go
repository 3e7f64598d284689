package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/link/linktest"
)

func TestALoginMakesASessionAndLeadsBack(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), true)
	v := &visitor{site: s}
	got := v.get("/dashboard/executions?state=queued")
	require.Equal(t, http.StatusSeeOther, got.StatusCode)
	require.Equal(t, "/dashboard/login?next=%2Fdashboard%2Fexecutions%3Fstate%3Dqueued", got.Header.Get("Location"))
	require.Contains(t, v.page(got.Header.Get("Location")), `value="/dashboard/executions?state=queued"`)

	got = v.send(http.MethodPost, "/dashboard/login", url.Values{"key": {"pawl_nonsense"}})
	require.Equal(t, http.StatusUnauthorized, got.StatusCode)
	strict(t, got)
	require.Contains(t, got.body, "not known, has expired or was revoked")
	require.NotContains(t, got.body, "pawl_nonsense")

	key := s.key("acme", "ann", execution.OperateRole)
	for next, place := range map[string]string{
		"/dashboard/agents": "/dashboard/agents", "//evil.example/dashboard/": "/dashboard/", "https://evil.example": "/dashboard/",
		"/monitoring": "/dashboard/", "/dashboard/../v1/x": "/dashboard/", "/dashboard/\\evil": "/dashboard/", "": "/dashboard/",
	} {
		got = v.send(http.MethodPost, "/dashboard/login", url.Values{"key": {" " + key + "\n"}, "next": {next}})
		require.Equal(t, http.StatusSeeOther, got.StatusCode, next)
		require.Equal(t, place, got.Header.Get("Location"), next)
	}
	require.Len(t, got.Cookies(), 1)
	cookie := got.Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.InDelta(t, auth.SessionTTL.Seconds(), cookie.MaxAge, 5)
	v.cookies = got.Cookies()
	require.Contains(t, v.page("/dashboard/"), "Log out")
	require.Equal(t, "/dashboard/login", v.send(http.MethodPost, "/dashboard/logout", nil).Header.Get("Location"))
	require.Equal(t, http.StatusSeeOther, v.get("/dashboard/").StatusCode, "the session has ended")
}

func TestWhoFollowsALinkOfAnotherSiteIsAskedOnceMore(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), true)
	v := &visitor{site: s}
	got := v.get("/dashboard/agents?x=1", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusOK, got.StatusCode)
	strict(t, got)
	require.Contains(t, got.body, `content="0; url=/dashboard/agents?again=1&amp;x=1"`)
	got = v.get("/dashboard/agents?again=1&x=1", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, "/dashboard/login?next=%2Fdashboard%2Fagents%3Fx%3D1", got.Header.Get("Location"))
}

func TestFormsOfOtherOriginsChangeNothing(t *testing.T) {
	t.Parallel()
	for _, keys := range []bool{true, false} {
		s := open(t, redistest.Shared(t).Client(t), keys)
		v := &visitor{site: s}
		l := s.service.As(execution.LocalAuthority())
		if keys {
			v, l = s.login("acme", "ann", execution.OperateRole), s.as("acme", "ann", execution.OperateRole)
		}
		id := s.create(l, "hello")
		before := redistest.Dump(t, s.rdb, s.prefix)
		for _, headers := range [][]string{
			{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"},
			{"Origin", "null", "Sec-Fetch-Site", ""},
			{"Origin", "", "Sec-Fetch-Site", ""},
		} {
			for _, path := range []string{at(id, "/cancel"), at(id, "/delete"), "/dashboard/login", "/dashboard/theme"} {
				got := v.send(http.MethodPost, path, url.Values{"theme": {"dark"}}, headers...)
				require.Equal(t, http.StatusForbidden, got.StatusCode, "%s %v", path, headers)
				strict(t, got)
				require.Empty(t, got.Cookies())
			}
		}
		require.Equal(t, before, redistest.Dump(t, s.rdb, s.prefix))
		require.Equal(t, http.StatusNotFound, v.get(at(id, "/cancel")).StatusCode, "an address that is followed changes nothing")
	}
}

func TestARoleAndATenantBoundWhatIsShownAndDone(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), true)
	id := s.create(s.as("acme", "ann", execution.SubmitRole), "hello")
	linktest.Claim(t, s.store, id)
	other := s.login("other", "eve", execution.OperateRole)
	for _, part := range []string{"", "/messages", "/tools", "/checkpoints"} {
		got := other.get(at(id, part))
		require.Equal(t, http.StatusNotFound, got.StatusCode, part)
		strict(t, got)
	}
	require.Equal(t, http.StatusNotFound, other.send(http.MethodPost, at(id, "/cancel"), nil).StatusCode)
	require.NotContains(t, other.page("/dashboard/"), string(id))
	require.NotContains(t, other.page("/dashboard/executions"), string(id))

	reader := s.login("acme", "bob", execution.ReadRole)
	body := reader.page(at(id, ""))
	for _, verb := range []string{"cancel", "pause", "release", "delete", "resume"} {
		require.NotContains(t, body, at(id, "/"+verb))
		got := reader.send(http.MethodPost, at(id, "/"+verb), nil)
		require.Equal(t, http.StatusForbidden, got.StatusCode, verb)
		require.Contains(t, got.body, `role="alert"`)
	}
	submitter := s.login("acme", "ann", execution.SubmitRole)
	body = submitter.page(at(id, ""))
	require.Contains(t, body, at(id, "/cancel"))
	require.NotContains(t, body, at(id, "/release"), "only operators release")
	require.NotContains(t, submitter.page("/dashboard/"), "Executions by state", "it is told no numbers of its tenant")
	require.Equal(t, http.StatusForbidden, s.login("acme", "cat", execution.SubmitRole).get(at(id, "")).StatusCode)

	operator := s.login("acme", "ops", execution.OperateRole)
	body = operator.page("/dashboard/")
	require.Contains(t, body, "Executions by state")
	require.NotContains(t, body, "worker-of-test")
	require.NotContains(t, body, "Depth of the queues", "the queues are those of all tenants")
	require.Equal(t, http.StatusForbidden, operator.get("/dashboard/workers").StatusCode)
	oncall := s.login(execution.AllTenants, "on-call", execution.OperateRole)
	require.Contains(t, oncall.page("/dashboard/"), "Depth of the queues")
	require.Contains(t, oncall.page("/dashboard/workers"), "worker-of-test")
	require.Contains(t, oncall.page("/dashboard/workers"), "Process 42 on <b>machine-of-test</b>")
	require.Contains(t, oncall.page(at(id, "")), at(id, "/release"))
}

func TestColorsAreKept(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	v := &visitor{site: s}
	require.Contains(t, v.page("/dashboard/"), `data-theme="auto"`)
	got := v.send(http.MethodPost, "/dashboard/theme", url.Values{"theme": {"dark"}, "next": {"/dashboard/agents"}})
	require.Equal(t, "/dashboard/agents", got.Header.Get("Location"))
	v.cookies = got.Cookies()
	require.Contains(t, v.page("/dashboard/agents"), `data-theme="dark"`)
}

// TestALoginOfARevokedKeyEnds: the pages' session dies with its key.
func TestALoginOfARevokedKeyEnds(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), true)
	v := &visitor{site: s}
	key, text, err := s.gate.Keys.Create(t.Context(), auth.NewKey{Tenant: "acme", Subject: "ann", Role: execution.ReadRole})
	require.NoError(t, err)
	v.cookies = v.send(http.MethodPost, "/dashboard/login", url.Values{"key": {text}}).Cookies()
	v.page("/dashboard/")
	_, _, err = s.gate.Keys.Revoke(t.Context(), key.ID)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		got := v.get("/dashboard/")
		return got.StatusCode == http.StatusSeeOther && strings.HasPrefix(got.Header.Get("Location"), "/dashboard/login")
	}, 10*time.Second, 50*time.Millisecond)
}
