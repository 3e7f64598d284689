package dashboard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/dashboard"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func serve(t *testing.T, rdb redis.UniversalClient, readOnly bool) string {
	t.Helper()
	h, err := dashboard.Monitoring(dashboard.MonitoringConfig{
		Redis: rdb, MayChange: func(*http.Request) bool { return !readOnly },
	})
	require.NoError(t, err)
	e := echo.New()
	e.Any("/monitoring", echo.WrapHandler(h))
	e.Any("/monitoring/*", echo.WrapHandler(h))
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return server.URL
}

func do(t *testing.T, method, url string, header ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp, body
}

func TestPageDeepLinksAndAssets(t *testing.T) {
	t.Parallel()
	base := serve(t, redistest.Shared(t).Client(t), true)
	var index []byte
	for _, link := range []string{"/monitoring", "/monitoring/", "/monitoring/queues/default", "/monitoring/servers", "/monitoring/no.svg"} {
		resp, body := do(t, http.MethodGet, base+link)
		require.Equal(t, http.StatusOK, resp.StatusCode, link)
		require.Contains(t, resp.Header.Get("Content-Type"), "text/html", link)
		require.Equal(t, "no-cache", resp.Header.Get("Cache-Control"), link)
		index = body
	}
	scripts := regexp.MustCompile(`src="(/monitoring/static/js/[^"]+)"`).FindAllSubmatch(index, -1)
	require.NotEmpty(t, scripts)
	for _, script := range scripts {
		resp, body := do(t, http.MethodGet, base+string(script[1]))
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Contains(t, resp.Header.Get("Content-Type"), "javascript")
		require.Contains(t, resp.Header.Get("Cache-Control"), "immutable")
		require.NotEmpty(t, body)
	}
	resp, body := do(t, http.MethodGet, base+"/monitoring/static/media/logo-color.c2b0c1f3.svg")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, []string{"image/svg+xml"}, resp.Header.Values("Content-Type"))
	require.True(t, bytes.Contains(body, []byte("<svg")))
	resp, _ = do(t, http.MethodGet, base+"/monitoringx")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}

func TestThePageLoadsNothingFromOtherHosts(t *testing.T) {
	t.Parallel()
	base := serve(t, redistest.Shared(t).Client(t), true)
	loads := regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	for _, link := range []string{"/monitoring", "/monitoring/", "/monitoring/queues/default"} {
		_, body := do(t, http.MethodGet, base+link)
		require.NotContains(t, string(body), "fonts.googleapis.com", link)
		found := loads.FindAllSubmatch(body, -1)
		require.Greater(t, len(found), 4, link)
		for _, load := range found {
			require.Regexp(t, "^/monitoring/", string(load[1]), link)
		}
		require.True(t, bytes.HasSuffix(body, []byte("</html>")), "the page is whole")
	}
}

func TestTheAPIListsExecutedTasks(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t).Client(t)
	base := serve(t, rdb, true)
	name := redistest.Prefix()
	release := make(chan struct{})
	runs := make(chan execution.Task, 1)
	server, err := queue.NewServer(rdb, runner(func(task execution.Task) error {
		runs <- task
		<-release
		return &execution.PutBack{After: time.Hour, Err: errors.New("seen")}
	}), queue.ServerConfig{Queues: map[string]int{name: 1}, NoSuspect: true, Prefix: name})
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(server.Shutdown)
	client, err := queue.NewClient(rdb, queue.ClientConfig{Queues: []string{name}, Prefix: name})
	require.NoError(t, err)
	task := execution.Task{Execution: execution.NewID(3), Step: 2, Wake: 1, Queue: name}
	require.NoError(t, client.Enqueue(context.Background(), task))
	require.Equal(t, task, <-runs)
	close(release)

	var list struct {
		Tasks []struct{ ID, Type, Payload string } `json:"tasks"`
	}
	require.Eventually(t, func() bool {
		_, body := do(t, http.MethodGet, base+"/monitoring/api/queues/"+name+"/retry_tasks")
		return json.Unmarshal(body, &list) == nil && len(list.Tasks) == 1
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, task.ID(), list.Tasks[0].ID)
	require.Equal(t, `{"executionId":"`+string(task.Execution)+`","step":2,"wake":1}`, list.Tasks[0].Payload)
	resp, body := do(t, http.MethodGet, base+"/monitoring/api/queues")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, string(body), name)
	resp, _ = do(t, http.MethodGet, base+"/monitoring/api/redis_info")
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

type runner func(execution.Task) error

func (r runner) Run(_ context.Context, task execution.Task) error { return r(task) }

func TestChangesNeedLeaveAndTheSameOrigin(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t).Client(t)
	name := redistest.Prefix()
	client, err := queue.NewClient(rdb, queue.ClientConfig{Queues: []string{name}, Prefix: name})
	require.NoError(t, err)
	require.NoError(t, client.Enqueue(context.Background(), execution.Task{Execution: execution.NewID(3), Queue: name}))
	pause := "/monitoring/api/queues/" + name + ":pause"
	paused := func() int64 { return rdb.Exists(context.Background(), "asynq:{"+name+"}:paused").Val() }

	resp, _ := do(t, http.MethodPost, serve(t, rdb, true)+pause)
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
	require.Zero(t, paused())

	base := serve(t, rdb, false)
	resp, _ = do(t, http.MethodPost, base+pause, "Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
	require.Zero(t, paused())
	resp, _ = do(t, http.MethodPost, base+pause, "Origin", base, "Sec-Fetch-Site", "same-origin")
	require.Less(t, resp.StatusCode, 300)
	require.Equal(t, int64(1), paused())
}

func TestConfigNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := dashboard.Monitoring(dashboard.MonitoringConfig{})
	require.ErrorContains(t, err, "Redis")
	for _, path := range []string{"/", "monitoring", "/monitoring/", "/a/../b"} {
		_, err = dashboard.Monitoring(dashboard.MonitoringConfig{Redis: redistest.Shared(t).Client(t), Path: path})
		require.ErrorContains(t, err, "Path")
		require.True(t, strings.Contains(err.Error(), path))
	}
}

func TestWhatIsOnThePageLeadsToItsExecutions(t *testing.T) {
	t.Parallel()
	h, err := dashboard.Monitoring(dashboard.MonitoringConfig{Redis: redistest.Shared(t).Client(t), Executions: "/dashboard/executions/"})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	_, page := do(t, http.MethodGet, server.URL+"/monitoring/queues/default")
	require.Contains(t, string(page), `src="/monitoring/pawl/executions.js" data-executions="/dashboard/executions/"></script></body>`)
	resp, script := do(t, http.MethodGet, server.URL+"/monitoring/pawl/executions.js")
	require.Contains(t, resp.Header.Get("Content-Type"), "javascript")
	require.Contains(t, string(script), "exec_[0-9]{2}")
	resp, _ = do(t, http.MethodGet, serve(t, redistest.Shared(t).Client(t), true)+"/monitoring/pawl/executions.js")
	require.Contains(t, resp.Header.Get("Content-Type"), "text/html", "nothing leads anywhere where there is no such page")
}
