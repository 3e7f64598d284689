package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
)

// What is open to everybody says no more to whoever shows no key than it has to.
func TestReadyzSaysToWhomShowsNoKeyNothingOfRedis(t *testing.T) {
	t.Parallel()
	g := withKeys(t, func(c *httpapi.Config) {
		c.Ready = func(context.Context) (httpapi.Readiness, error) {
			return httpapi.Readiness{Redis: map[string]string{"version": "7.0.15"}, Durability: "always"}, nil
		}
	})
	key, id := g.key("acme", "ray", execution.ReadRole)
	const nothing = `{"status": "ready", "version": "v0.0.0-test", "durability": "always"}`
	for _, shown := range []string{"X-Nothing: 1", "Authorization: Bearer pawl_aaaaaaaaaaaa_b", "Cookie: pawl_session=b"} {
		got := g.do(get, "/readyz", "", shown)
		require.Equal(t, 200, got.StatusCode)
		require.JSONEq(t, nothing, got.body, shown)
	}
	require.Contains(t, g.do(get, "/readyz", "", key).body, "7.0.15")
	g.revoke(id)
	require.Eventually(t, func() bool { return !strings.Contains(g.do(get, "/readyz", "", key).body, "7.0.15") },
		3*patience, 10*time.Millisecond)
}

// Whoever copies a command from the page of an installation with keys gets one that shows a key, where the call takes one.
func TestTheReferencesCommandsShowAKeyWhereThereAreKeys(t *testing.T) {
	t.Parallel()
	const shows = `curl -H &#34;Authorization: Bearer $PAWL_API_KEY&#34; -s`
	g := withKeys(t)
	key, _ := g.key("acme", "ray", execution.ReadRole)
	first := g.do(get, "/docs", "", key)
	for _, page := range []answer{first, g.do(get, "/docs", "")} {
		require.Equal(t, 200, page.StatusCode)
		for _, command := range []string{
			shows + " $PAWL_URL/v1/agents", shows + " &#34;$PAWL_URL/v1/executions/$ID/events", "curl -s $PAWL_URL/livez",
		} {
			require.True(t, strings.Contains(page.body, command), command)
		}
		require.False(t, strings.Contains(page.body, "curl -s $PAWL_URL/v1/"))
	}
	require.Equal(t, 304, g.do(get, "/docs", "", "If-None-Match: "+first.Header.Get("ETag")).StatusCode)
	open := serve(t, memory(t)).do(get, "/docs", "")
	require.False(t, strings.Contains(open.body, shows))
	require.NotEqual(t, first.Header.Get("ETag"), open.Header.Get("ETag"))
}
