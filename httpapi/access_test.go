package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/internal/redistest"
)

// guarded is an API with keys, over Redis.
type guarded struct {
	*api
	gate   *auth.Gate
	rdb    *redis.Client
	prefix string
	log    *lines
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func withKeys(t *testing.T, change ...func(*httpapi.Config)) *guarded {
	t.Helper()
	g := &guarded{prefix: redistest.Prefix(), log: &lines{}}
	store, rdb := onRedis(t, g.prefix)
	g.rdb = rdb
	logger := slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	g.gate, err = auth.New(rdb, auth.Config{
		KeysConfig: auth.KeysConfig{Prefix: g.prefix, CacheTTL: 50 * time.Millisecond}, Logger: logger,
	})
	require.NoError(t, err)
	g.api = serve(t, store, append([]func(*httpapi.Config){func(c *httpapi.Config) {
		c.Access, c.Recheck, c.Logger = g.gate, 50*time.Millisecond, logger
	}}, change...)...)
	return g
}

// key makes a key and gives it as a header, with its id.
func (g *guarded) key(tenant, subject string, role execution.CallerRole) (header, id string) {
	g.t.Helper()
	key, text, err := g.gate.Keys.Create(g.t.Context(), auth.NewKey{Tenant: tenant, Subject: subject, Role: role})
	require.NoError(g.t, err)
	return "Authorization: Bearer " + text, key.ID
}

func (g *guarded) revoke(id string) {
	g.t.Helper()
	_, changed, err := g.gate.Keys.Revoke(context.Background(), id)
	require.NoError(g.t, err)
	require.True(g.t, changed)
}

func (g *guarded) submitAs(key string, headers ...string) execution.View {
	g.t.Helper()
	got := g.do(post, creating, validBody, append(headers, key)...)
	require.Contains(g.t, []int{200, 202}, got.StatusCode, got.body)
	var view execution.View
	got.decode(g.t, &view)
	return view
}

func TestTwoTenantsThreeRolesAndTheOnCallView(t *testing.T) {
	t.Parallel()
	g := withKeys(t)
	ann, _ := g.key("acme", "ann", execution.SubmitRole)
	one := creating + "/" + string(g.submitAs(ann).ID)
	for _, c := range []struct {
		tenant, subject          string
		role                     execution.CallerRole
		create, list, see, steer int
	}{
		{"acme", "ann", execution.SubmitRole, 202, 2, 200, 200},
		{"acme", "bob", execution.SubmitRole, 202, 1, 403, 403},
		{"acme", "bob", execution.ReadRole, 403, 3, 200, 403},
		{"acme", "bob", execution.OperateRole, 202, 4, 200, 200},
		{"other", "ann", execution.SubmitRole, 202, 1, 404, 404},
		{"other", "ann", execution.ReadRole, 403, 1, 404, 404},
		{"other", "ann", execution.OperateRole, 202, 2, 404, 404},
		{execution.AllTenants, "on-call", execution.ReadRole, 403, 6, 200, 403},
		{execution.AllTenants, "on-call", execution.OperateRole, 403, 6, 200, 200},
	} {
		name := fmt.Sprint(c.tenant, "/", c.subject, " ", c.role)
		key, _ := g.key(c.tenant, c.subject, c.role)
		require.Equal(t, c.create, g.do(post, creating, validBody, key).StatusCode, name)
		var page execution.ListPage
		g.do(get, creating, "", key).decode(t, &page)
		require.Len(t, page.Executions, c.list, name)
		for _, path := range []string{one, one + "/events", one + "?wait=1ms"} {
			require.Equal(t, c.see, g.do(get, path, "", key).StatusCode, name+" "+path)
		}
		token := map[bool]int{true: 201, false: c.see}[c.see == 200]
		require.Equal(t, token, g.do(post, one+"/stream-token", "", key).StatusCode, name)
		paused := g.do(post, one+"/pause", "", key).StatusCode
		if c.steer == 200 {
			require.Contains(t, []int{200, 202}, paused, name)
			require.Contains(t, []int{200, 202}, g.do(post, one+"/resume", "", key).StatusCode, name)
			continue
		}
		require.Equal(t, c.steer, paused, name)
	}
}

func TestWhoShowsNoGoodCredentialGets401AndIsToldHow(t *testing.T) {
	t.Parallel()
	g := withKeys(t)
	before := redistest.Dump(t, g.rdb, g.prefix)
	for _, path := range []string{creating, "/v1/agents", "/v1/nothing", "/monitoring", "/nothing"} {
		got := g.do(get, path, "")
		refused(t, got, 401, execution.Unauthenticated, "Authorization")
		require.Equal(t, `Bearer realm="pawl"`, got.Header.Get("WWW-Authenticate"), path)
	}
	for range 19 {
		got := g.do(post, creating, validBody, "Authorization: Bearer pawl_aaaaaaaaaaaa_b")
		refused(t, got, 401, execution.Unauthenticated, "Authorization")
		require.Equal(t, `Bearer realm="pawl", error="invalid_token"`, got.Header.Get("WWW-Authenticate"))
	}
	refused(t, g.do(get, creating, "", "Authorization: Basic YTpi"), 401, execution.Unauthenticated, "Authorization")
	got := g.do(get, creating, "", "Authorization: Bearer pawl_aaaaaaaaaaaa_b")
	refused(t, got, 429, execution.Overloaded, "Authorization")
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	require.Equal(t, before, redistest.Dump(t, g.rdb, g.prefix))
	key, _ := g.key("acme", "ann", execution.SubmitRole)
	require.Equal(t, 200, g.do(get, creating, "", key).StatusCode)
	require.Equal(t, 200, g.do(get, "/livez", "").StatusCode)
	require.Equal(t, 200, g.do(get, "/readyz", "").StatusCode)
	require.Equal(t, 200, g.do(get, creating, "", key, "Host: pawl.example", "Origin: https://elsewhere.example").StatusCode,
		"with keys it is served under any name, and a page that has a key is no stranger")
}

// revocationBound is how long the manual says that a stream of a revoked key may stay open.
const revocationBound = 10 * time.Second

// opened is a stream that a client has open with a header, or with a token in the address.
func (g *guarded) opened(path, header string) *sse {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	g.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, get, g.URL+path, nil)
	require.NoError(g.t, err)
	request.Header.Set("Accept", "text/event-stream")
	if name, value, is := strings.Cut(header, ": "); is {
		request.Header.Set(name, value)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = response.Body.Close() })
	return &sse{response, bufio.NewReader(response.Body), cancel}
}

func TestAStreamTokenOpensItsStreamAndNothingElse(t *testing.T) {
	t.Parallel()
	g := withKeys(t)
	key, id := g.key("acme", "ann", execution.SubmitRole)
	mine, another := string(g.submitAs(key).ID), string(g.submitAs(key).ID)
	events := func(id string) string { return creating + "/" + id + "/events" }
	mint := creating + "/" + mine + "/stream-token"
	got := g.do(post, mint, "{}", key)
	require.Equal(t, 201, got.StatusCode, got.body)
	var token execution.StreamToken
	got.decode(t, &token)
	require.InDelta(t, time.Now().Add(10*time.Minute).UnixMilli(), token.ExpiresAtMs, 60_000)
	refused(t, g.do(post, mint, `{"ttl": 1}`, key), 400, execution.UnknownField, "ttl")
	refused(t, g.do(post, mint+"?ttl=1", "", key), 400, execution.UnknownField, "ttl")
	refused(t, g.do(post, mint, ""), 401, execution.Unauthenticated, "Authorization")

	stream := g.opened(events(mine)+"?token="+token.Token, "")
	require.Equal(t, 200, stream.response.StatusCode)
	require.Equal(t, "execution_queued", stream.event(t).kind)
	with := "?token=" + token.Token
	accept := "Accept: text/event-stream"
	refused(t, g.do(get, events(another)+with, "", accept), 403, execution.Forbidden, "token")
	refused(t, g.do(get, events(mine)+with, ""), 403, execution.Forbidden, "token")
	refused(t, g.do(get, events(mine)+with, "", accept, key), 400, execution.InvalidRequest, "token")
	refused(t, g.do(get, events(mine)+with+"x", "", accept), 401, execution.Unauthenticated, "token")
	refused(t, g.do(get, events(mine)+"?token=", "", accept), 401, execution.Unauthenticated, "token")
	for _, path := range []string{creating + "/" + mine, creating, "/v1/agents", creating + "/" + mine + "/messages"} {
		refused(t, g.do(get, path+with, ""), 401, execution.Unauthenticated, "Authorization")
	}
	refused(t, g.do(post, creating+"/"+mine+"/cancel"+with, ""), 401, execution.Unauthenticated, "Authorization")
	refused(t, g.do(get, creating, "", "Authorization: Bearer "+token.Token), 401, execution.Unauthenticated, "Authorization")

	since := time.Now()
	g.revoke(id)
	require.NoError(t, stream.rest(t), "it is closed as a whole: the client comes back, and is refused")
	require.Less(t, time.Since(since), revocationBound)
	refused(t, g.do(get, events(mine)+with, "", accept), 401, execution.Unauthenticated, "token")
}

func TestWhatIsOpenForARevokedKeyEnds(t *testing.T) {
	t.Parallel()
	g := withKeys(t)
	key, id := g.key("acme", "ann", execution.OperateRole)
	other, _ := g.key("acme", "bob", execution.OperateRole)
	one := creating + "/" + string(g.submitAs(key).ID)
	stream, stays := g.opened(one+"/events", key), g.opened(one+"/events", other)
	for _, s := range []*sse{stream, stays} {
		require.Equal(t, "execution_queued", s.event(t).kind)
	}
	waited := make(chan answer, 1)
	go func() { waited <- g.do(get, one+"?wait=9s", "", key) }()
	for range 3 { // it stays open as long as the key is good
		_, err := stream.next()
		require.NoError(t, err)
	}
	since := time.Now()
	g.revoke(id)
	require.NoError(t, stream.rest(t))
	require.Less(t, time.Since(since), revocationBound)
	got := <-waited
	refused(t, got, 401, execution.Unauthenticated, "Authorization")
	require.NotEmpty(t, got.Header.Get("WWW-Authenticate"))
	require.Equal(t, 202, g.do(post, one+"/cancel", "", other).StatusCode)
	for stays.event(t).kind != "execution_canceled" { //nolint:revive // what came before does not matter here
	}
}

func TestNoLogAndNoRedisHoldsASecret(t *testing.T) {
	t.Parallel()
	g := withKeys(t)
	key, id := g.key("acme", "ann", execution.SubmitRole)
	secret := strings.TrimPrefix(key, "Authorization: Bearer ")
	one := creating + "/" + string(g.submitAs(key).ID)
	var token execution.StreamToken
	g.do(post, one+"/stream-token", "", key).decode(t, &token)
	cookie, _, err := g.gate.Login(httptest.NewRequest(post, "http://pawl.example/login", nil), secret)
	require.NoError(t, err)
	for _, request := range [][]string{
		{get, one + "/events?token=" + token.Token},
		{get, one + "/events?token=" + token.Token + "&%zz"},
		{get, one + "?token=" + token.Token},
		{post, one + "/cancel?token=" + token.Token, key},
		{get, creating, key + "x"},
		{get, creating, strings.Replace(key, "Bearer", "Basic", 1)},
		{get, creating, "Authorization: Bearer " + token.Token},
		{get, creating, "Cookie: pawl_session=" + cookie.Value},
		{post, creating, "Cookie: pawl_session=" + cookie.Value},
		{get, "/monitoring?token=" + token.Token, key},
	} {
		g.do(request[0], request[1], "", request[2:]...)
	}
	g.opened(one+"/events?token="+token.Token, "").close()
	g.revoke(id)
	require.NoError(t, g.rdb.Close()) // faults are logged with their causes
	require.Equal(t, 503, g.do(get, creating, "", key).StatusCode)
	require.Equal(t, 503, g.do(get, one+"/events?token="+token.Token, "", "Accept: text/event-stream").StatusCode)
	log := g.log.String()
	require.Contains(t, log, "path="+one+"/events")
	dump := fmt.Sprint(redistest.Dump(t, redistest.Shared(t).Client(t), g.prefix))
	for name, text := range map[string]string{
		"key": secret, "secret": secret[18:], "token": token.Token, "token's secret": token.Token[11:], "session": cookie.Value,
	} {
		require.NotContains(t, log, text, name)
		require.NotContains(t, dump, text, name)
	}
}

func TestCursorsPlacesInALogAndKeysBelongToTheirCaller(t *testing.T) {
	t.Parallel()
	g := withKeys(t)
	ann, _ := g.key("acme", "ann", execution.SubmitRole)
	bob, _ := g.key("acme", "bob", execution.SubmitRole)
	stranger, _ := g.key("other", "ann", execution.SubmitRole)
	again, _ := g.key("acme", "ann", execution.SubmitRole)
	const name = "Idempotency-Key: order-7"
	first := g.submitAs(ann, name)
	require.Equal(t, first.ID, g.submitAs(again, name).ID, "two keys of one caller")
	require.NotEqual(t, first.ID, g.submitAs(bob, name).ID)
	require.NotEqual(t, first.ID, g.submitAs(stranger, name).ID)
	g.submitAs(ann)
	var page execution.ListPage
	g.do(get, creating+"?limit=1", "", ann).decode(t, &page)
	next := creating + "?limit=1&cursor=" + page.NextCursor
	require.Equal(t, 200, g.do(get, next, "", again).StatusCode)
	for _, key := range []string{bob, stranger} {
		refused(t, g.do(get, next, "", key), 400, execution.InvalidRequest, "cursor")
	}
	events := creating + "/" + string(first.ID) + "/events"
	resume := []string{"Accept: text/event-stream", "Last-Event-ID: 1"}
	refused(t, g.do(get, events, "", append(resume, stranger)...), 404, execution.NotFound, "id")
	refused(t, g.do(get, events, "", append(resume, bob)...), 403, execution.Forbidden, "")
}

func TestTheQueuesAreShownToWhoeverOverseesAllTenants(t *testing.T) {
	t.Parallel()
	queues := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, fmt.Sprint(auth.From(r.Context()).Tends()))
	})
	g := withKeys(t, func(c *httpapi.Config) { c.Monitoring = queues })
	for _, c := range []struct {
		tenant    string
		role      execution.CallerRole
		get, post int
		tends     string
	}{
		{"acme", execution.SubmitRole, 403, 403, ""},
		{"acme", execution.OperateRole, 403, 403, ""},
		{execution.AllTenants, execution.ReadRole, 200, 403, "false"},
		{execution.AllTenants, execution.OperateRole, 200, 200, "true"},
	} {
		key, _ := g.key(c.tenant, "ann", c.role)
		got := g.do(get, "/monitoring/queues", "", key)
		require.Equal(t, c.get, got.StatusCode, "%+v", c)
		if c.tends != "" {
			require.Equal(t, c.tends, got.body)
		}
		require.Equal(t, c.post, g.do(post, "/monitoring/api/queues/default:pause", "", key).StatusCode, "%+v", c)
		cookie, _, err := g.gate.Login(httptest.NewRequest(post, g.URL+"/login", nil), strings.TrimPrefix(key, "Authorization: Bearer "))
		require.NoError(t, err)
		session := "Cookie: " + cookie.Name + "=" + cookie.Value
		require.Equal(t, c.get, g.do(get, "/monitoring", "", session).StatusCode, "%+v", c)
		refused(t, g.do(post, "/monitoring/api/queues/default:pause", "", session), 403, execution.Forbidden, "Origin")
		require.Equal(t, c.post, g.do(post, "/monitoring/api/queues/default:pause", "", session, "Sec-Fetch-Site: same-origin").StatusCode)
	}
}

func TestPagesOfConfiguredOriginsUseTheAPI(t *testing.T) {
	t.Parallel()
	const app = "https://app.example.com"
	g := withKeys(t, func(c *httpapi.Config) { c.Origins = []string{app, "http://localhost:5173"} })
	key, _ := g.key("acme", "ann", execution.SubmitRole)
	asks := func(origin string) []string {
		return []string{
			"Origin: " + origin, "Access-Control-Request-Method: POST",
			"Access-Control-Request-Headers: authorization,content-type,idempotency-key",
		}
	}
	preflight := g.do(http.MethodOptions, creating, "", asks(app)...)
	require.Equal(t, 204, preflight.StatusCode)
	require.Equal(t, app, preflight.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, preflight.Header.Get("Access-Control-Allow-Methods"), "POST")
	require.Contains(t, preflight.Header.Get("Access-Control-Allow-Headers"), "Idempotency-Key")
	require.Empty(t, preflight.Header.Get("Access-Control-Allow-Credentials"))
	require.Contains(t, strings.Join(preflight.Header.Values("Vary"), ","), "Access-Control-Request-Headers")
	for _, c := range []struct {
		got    answer
		status int
	}{
		{g.do(post, creating, validBody, key, "Origin: "+app), 202},
		{g.do(get, creating, "", "Origin: "+app), 401},
		{g.do(get, "/v1/nothing", "", key, "Origin: "+app), 404},
	} {
		require.Equal(t, c.status, c.got.StatusCode, c.got.body)
		require.Equal(t, app, c.got.Header.Get("Access-Control-Allow-Origin"), "a page may read what was wrong")
		require.Equal(t, "Origin", c.got.Header.Get("Vary"))
		for _, name := range []string{"Location", "Idempotency-Replayed", "Retry-After", "X-Request-Id"} {
			require.Contains(t, c.got.Header.Get("Access-Control-Expose-Headers"), name)
		}
	}
	for _, origin := range []string{"https://other.example.com", "http://app.example.com", app + ".other", "null"} {
		got := g.do(http.MethodOptions, creating, "", asks(origin)...)
		require.GreaterOrEqual(t, got.StatusCode, 400, origin)
		require.Empty(t, got.Header.Get("Access-Control-Allow-Origin"), origin)
		require.Contains(t, got.Header.Values("Vary"), "Origin")
	}
	for _, path := range []string{"/livez", "/monitoring"} {
		require.Empty(t, g.do(get, path, "", key, "Origin: "+app).Header.Get("Access-Control-Allow-Origin"), path)
	}
	any := withKeys(t, func(c *httpapi.Config) { c.Origins = []string{"*"} })
	got := any.do(get, creating, "", "Origin: https://whoever.example")
	require.Equal(t, "*", got.Header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, got.Header.Get("Access-Control-Allow-Credentials"))
}

func TestWithoutKeysOnlyConfiguredOriginsAreLetIn(t *testing.T) {
	t.Parallel()
	const app = "http://localhost:5173"
	a := serve(t, memory(t), func(c *httpapi.Config) { c.Origins = []string{app} })
	got := a.do(get, creating, "", "Origin: "+app)
	require.Equal(t, 200, got.StatusCode)
	require.Equal(t, app, got.Header.Get("Access-Control-Allow-Origin"))
	refused(t, a.do(get, creating, "", "Origin: http://localhost:5174"), 403, execution.Forbidden, "Origin")
	require.Empty(t, a.do(get, creating, "").Header.Get("Access-Control-Allow-Origin"))
	id := string(a.submit().ID)
	var token execution.StreamToken
	a.do(post, creating+"/"+id+"/stream-token", "").decode(t, &token)
	events := creating + "/" + id + "/events?token="
	refused(t, a.do(get, events+token.Token+"x", "", "Accept: text/event-stream"), 401, execution.Unauthenticated, "token")
	stream := (&guarded{api: a}).opened(events+token.Token, "Origin: "+app)
	require.Equal(t, 200, stream.response.StatusCode)
	require.Equal(t, app, stream.response.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "execution_queued", stream.event(t).kind)
	stream.close()
}

func TestOriginsAndAccessAreChecked(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"app.example.com", "https://app.example.com/", "https://a*.example", "ftp://a", "https://A.example", "null", ""} {
		_, err := httpapi.New(httpapi.Config{Link: noLink{}, Origins: []string{origin}})
		require.ErrorContains(t, err, "Origins", origin)
	}
	_, err := httpapi.New(httpapi.Config{
		Link: noLink{}, Access: auth.Open(nil), Authenticate: func(*http.Request) (execution.Authority, error) {
			return execution.LocalAuthority(), nil
		},
	})
	require.ErrorContains(t, err, "want one of them")
}
