package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/dashboard"
	"github.com/pawl-run/pawl/internal/redistest"
)

// TestTheQueuesLeadBackToTheDashboard: the way back is the first thing on each of Asynq's pages, and there where it is asked for alone.
func TestTheQueuesLeadBackToTheDashboard(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t).Client(t)
	h, err := dashboard.Monitoring(dashboard.MonitoringConfig{Redis: rdb, Home: "/dashboard/", Executions: "/dashboard/executions/"})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	back := regexp.MustCompile(`<body><nav [^>]*><a href="/dashboard/">[^<]+`)
	for _, link := range []string{"/monitoring", "/monitoring/", "/monitoring/queues/default"} {
		_, body := do(t, http.MethodGet, server.URL+link)
		require.Regexp(t, back, string(body), link)
		require.Equal(t, 1, strings.Count(string(body), "/pawl/pawl.css"), link)
		require.Contains(t, string(body), `data-executions="/dashboard/executions/"></script></body>`, link)
	}
	for path, kind := range map[string]string{"/pawl/pawl.css": "text/css; charset=utf-8", "/pawl/executions.js": "text/javascript; charset=utf-8"} {
		resp, body := do(t, http.MethodGet, server.URL+"/monitoring"+path)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, kind, resp.Header.Get("Content-Type"))
		require.NotEmpty(t, body)
	}
	plain := serve(t, rdb, true)
	_, body := do(t, http.MethodGet, plain+"/monitoring/")
	require.NotContains(t, string(body), "pawl")
	resp, _ := do(t, http.MethodGet, plain+"/monitoring/pawl/pawl.css")
	require.Contains(t, resp.Header.Get("Content-Type"), "text/html", "what is not there is asynqmon's page")
}

// TestTheQueuesMayLoadWhatIsOfThisOriginAlone: no script in the page runs but those that it came with.
func TestTheQueuesMayLoadWhatIsOfThisOriginAlone(t *testing.T) {
	t.Parallel()
	base := serve(t, redistest.Shared(t).Client(t), true)
	for _, link := range []string{"/monitoring", "/monitoring/queues/default"} {
		resp, body := do(t, http.MethodGet, base+link)
		policy := resp.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.NotContains(t, policy, "http")
		scripts := regexp.MustCompile(`script-src ([^;]*)`).FindStringSubmatch(policy)
		require.Len(t, scripts, 2)
		require.NotContains(t, scripts[1], "unsafe")
		require.Equal(t, strings.Count(string(body), "<script>"), strings.Count(scripts[1], "'sha256-"), "one for each script that is in the page")
	}
}
