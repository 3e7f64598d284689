package dashboard_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/dashboard"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

type nowhere struct{}

func (nowhere) Enqueue(context.Context, ...execution.Task) error { return nil }

// stored counts by the store, and knows two queues and a worker.
type stored struct{ *redisjournal.Store }

func (s stored) Counts(ctx context.Context, tenant string) (map[execution.State]dashboard.Count, error) {
	found, err := s.Count(ctx, tenant)
	counts := map[execution.State]dashboard.Count{}
	for state, count := range found {
		counts[state] = dashboard.Count{Executions: count.Executions}
		if count.Oldest != nil {
			counts[state] = dashboard.Count{Executions: count.Executions, Oldest: count.Oldest.ID, SinceMs: count.Oldest.CreatedAtMs}
		}
	}
	return counts, err
}

func (stored) Queues(context.Context) ([]dashboard.Queue, error) {
	return []dashboard.Queue{{Name: "default", Pending: 3}, {Name: "default-new", Latency: time.Second}}, nil
}

func (stored) Workers(context.Context) ([]dashboard.Worker, error) {
	return []dashboard.Worker{{
		ID: "worker-of-test", Host: "machine-of-test", PID: 42, Queues: []string{"default"}, Concurrency: 50, Held: 1,
		Holding: []execution.ID{execution.NewID(3)},
	}}, nil
}

// site is an API process with the pages, over Redis.
type site struct {
	*httptest.Server
	t       *testing.T
	rdb     *redis.Client
	prefix  string
	store   *redisjournal.Store
	service *link.Service
	gate    *auth.Gate
}

// open serves the pages; without keys everybody is the local operator.
func open(t *testing.T, rdb *redis.Client, keys bool, change ...func(*auth.Config)) *site {
	t.Helper()
	s := &site{t: t, rdb: rdb, prefix: redistest.Prefix()}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	s.store, err = redisjournal.New(rdb, redisjournal.Config{Prefix: s.prefix, Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	s.service, err = link.New(link.Config{
		Journal: s.store, Catalog: linktest.Catalog(t), Enqueuer: nowhere{}, Opening: linktest.OpenWith,
		Boundary: linktest.BoundaryOf, Message: linktest.MessageOf, Call: linktest.CallOf, Forking: linktest.ForkWith, Logger: quiet,
	})
	require.NoError(t, err)
	cfg := httpapi.Config{Link: s.service, Logger: quiet}
	if keys {
		access := auth.Config{KeysConfig: auth.KeysConfig{Prefix: s.prefix}, Logger: quiet}
		for _, f := range change {
			f(&access)
		}
		s.gate, err = auth.New(rdb, access)
		require.NoError(t, err)
		cfg.Access = s.gate
	}
	pages, err := dashboard.NewPages(dashboard.PagesConfig{
		Link: s.service, Facts: stored{s.store}, Gate: s.gate, Monitoring: true, Version: "v0", Logger: quiet,
	})
	require.NoError(t, err)
	cfg.Dashboard = pages
	server, err := httpapi.New(cfg)
	require.NoError(t, err)
	s.Server = httptest.NewServer(server)
	t.Cleanup(s.Close)
	t.Cleanup(server.Drain)
	return s
}

// visitor is a browser, as far as the server can tell.
type visitor struct {
	site    *site
	cookies []*http.Cookie
}

// answer is what came back.
type answer struct {
	*http.Response
	body string
}

func (v *visitor) send(method, path string, form url.Values, headers ...string) answer {
	v.site.t.Helper()
	ctx, cancel := context.WithTimeout(v.site.t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, v.site.URL+path, strings.NewReader(form.Encode()))
	require.NoError(v.site.t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", v.site.URL)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	for _, cookie := range v.cookies {
		r.AddCookie(cookie)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(v.site.t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(v.site.t, err)
	return answer{response, string(data)}
}

func (v *visitor) get(path string, headers ...string) answer {
	v.site.t.Helper()
	return v.send(http.MethodGet, path, nil, headers...)
}

// page is a page that is shown; it loads nothing from elsewhere and has no script or style in its text.
func (v *visitor) page(path string) string {
	v.site.t.Helper()
	got := v.get(path)
	require.Equal(v.site.t, http.StatusOK, got.StatusCode, path+" "+got.body)
	strict(v.site.t, got)
	return got.body
}

var inline = regexp.MustCompile(`(?i)<script>|<style|\sstyle=|\son[a-z]+="|javascript:`)

// strict asserts what holds of every page.
func strict(t *testing.T, got answer) {
	t.Helper()
	policy := got.Header.Get("Content-Security-Policy")
	for _, rule := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'",
	} {
		require.Contains(t, policy, rule)
	}
	require.NotContains(t, policy, "unsafe")
	require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "text/html; charset=utf-8", got.Header.Get("Content-Type"))
	require.Contains(t, got.body, "</html>", "the page is whole")
	require.Empty(t, inline.FindString(got.body))
	for _, found := range regexp.MustCompile(`(?:src|action|data-live)="([^"]*)"`).FindAllStringSubmatch(got.body, -1) {
		require.Regexp(t, `^(/[a-z]|data:image/)`, found[1])
	}
}

func (s *site) key(tenant, subject string, role execution.CallerRole) string {
	s.t.Helper()
	_, text, err := s.gate.Keys.Create(s.t.Context(), auth.NewKey{Tenant: tenant, Subject: subject, Role: role})
	require.NoError(s.t, err)
	return text
}

func (s *site) login(tenant, subject string, role execution.CallerRole) *visitor {
	s.t.Helper()
	v := &visitor{site: s}
	got := v.send(http.MethodPost, "/dashboard/login", url.Values{"key": {s.key(tenant, subject, role)}})
	require.Equal(s.t, http.StatusSeeOther, got.StatusCode, got.body)
	v.cookies = got.Cookies()
	return v
}

// as is the link of the same person.
func (s *site) as(tenant, subject string, role execution.CallerRole) link.RuntimeLink {
	return s.service.As(execution.Authority{Caller: execution.CallerScope{Tenant: tenant, Subject: subject}, Role: role})
}

func (s *site) create(l link.RuntimeLink, text string) execution.ID {
	s.t.Helper()
	request := linktest.Request(text)
	request.Metadata = map[string]string{"order": "7"}
	created, err := l.Create(s.t.Context(), "", request)
	require.NoError(s.t, err)
	return created.View.ID
}

func at(id execution.ID, part string) string { return "/dashboard/executions/" + string(id) + part }

func TestEveryPageIsShownUnderAStrictPolicy(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	local := s.service.As(execution.LocalAuthority())
	id := s.create(local, "<script>alert(1)</script>")
	w := linktest.Claim(t, s.store, id)
	w.Say(`{"role":"assistant","text":"Looking.","toolCalls":[{"callId":"call_0_0","name":"lookup","arguments":{"b":1},` +
		`"providerId":"toolu_hidden"}],"provider":{"name":"p","data":{"signature":"hidden"}}}`)
	w.Ask(linktest.Elicitation("question"))
	view, err := local.Execution(t.Context(), id)
	require.NoError(t, err)
	v := &visitor{site: s}
	for path, says := range map[string]string{
		"/dashboard/":           "waiting for input",
		"/dashboard/executions": string(id),
		at(id, ""):              "Book it?",
		at(id, "/messages"):     "Looking.",
		at(id, "/tools"):        "No tool was called yet.",
		at(id, "/checkpoints"):  "model response",
		"/dashboard/workers":    "worker-of-test",
		"/dashboard/agents":     "demo",
		"/dashboard/conversations/" + string(view.ConversationID): string(id),
	} {
		body := v.page(path)
		require.Contains(t, body, says, path)
		require.NotContains(t, body, "<script>alert", path)
		require.NotContains(t, body, "signature", path)
		require.NotContains(t, body, "toolu_hidden", path)
	}
	require.Contains(t, v.page(at(id, "/messages")), `&lt;script&gt;`)
	for _, path := range []string{"/dashboard/none", at(execution.NewID(3), ""), at(id, "/none")} {
		got := v.get(path)
		require.Equal(t, http.StatusNotFound, got.StatusCode, path)
		strict(t, got)
	}
	got := v.get(at("nonsense", ""))
	require.Equal(t, http.StatusBadRequest, got.StatusCode)
	require.Contains(t, got.body, "not an execution id")
	got = v.get("/dashboard/find?id=" + string(id))
	require.Equal(t, at(id, ""), got.Header.Get("Location"))
	require.Equal(t, "/dashboard/", v.get("/dashboard/login").Header.Get("Location"), "there is nothing to log in with")
}

func TestAssetsAreKeptByTheirHash(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), true)
	v := &visitor{site: s}
	found := regexp.MustCompile(`(?:src|href)="(/dashboard/assets/[^"]+)"`).FindAllStringSubmatch(v.page("/dashboard/login"), -1)
	require.Len(t, found, 4)
	for _, asset := range found {
		got := v.get(asset[1])
		require.Equal(t, http.StatusOK, got.StatusCode, asset[1])
		require.Contains(t, got.Header.Get("Cache-Control"), "immutable")
		require.NotEmpty(t, got.body)
	}
	require.Equal(t, http.StatusNotFound, v.get("/dashboard/assets/pawl.css").StatusCode)
}

func TestTheListTakesFiltersAndGoesOn(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	local := s.service.As(execution.LocalAuthority())
	var ids []execution.ID
	for range 60 {
		ids = append(ids, s.create(local, "hello"))
	}
	linktest.Claim(t, s.store, ids[0]).Complete("done")
	v := &visitor{site: s}
	first := v.page("/dashboard/executions?metadata=order%3D7&since=1h")
	require.Equal(t, 50, strings.Count(first, "data-label=\"Execution\""))
	next := regexp.MustCompile(`href="([^"]*cursor=[^"]*)" rel="next"`).FindStringSubmatch(first)
	require.NotEmpty(t, next)
	second := v.page(strings.ReplaceAll(next[1], "&amp;", "&"))
	require.Equal(t, 10, strings.Count(second, "data-label=\"Execution\""))
	require.Contains(t, second, string(ids[0]))
	completed := v.page("/dashboard/executions?state=completed&agent=demo")
	require.Equal(t, 1, strings.Count(completed, "data-label=\"Execution\""))
	require.Contains(t, v.page("/dashboard/executions?metadata=order%3D8"), "No execution passes these filters")
	for query, field := range map[string]string{
		"state=asleep": "state", "metadata=order": "metadata", "since=soon": "since", "updatedSince=x": "updatedSince", "cursor=x": "cursor",
	} {
		got := v.get("/dashboard/executions?" + query)
		require.Equal(t, http.StatusBadRequest, got.StatusCode, query)
		require.Contains(t, got.body, "<code>"+field+"</code>", query)
	}
}
