package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/redisconn"
	"github.com/pawl-run/pawl/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func quietDeps() Deps { return Deps{Logger: slog.New(slog.DiscardHandler)} }

func TestRequireLoopback_RefusesWhatOthersCanReach(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:8080", "127.9.9.9:1", "[::1]:8080", "localhost:0", "[::ffff:127.0.0.1]:1"} {
		require.NoError(t, requireLoopback(addr, config.Auth{}), addr)
	}
	for _, addr := range []string{":8080", "0.0.0.0:8080", "[::]:8080", "10.0.0.1:80", "example.org:80"} {
		require.ErrorIs(t, requireLoopback(addr, config.Auth{Auth: config.AuthNone}), errNeedsKeys, addr)
		require.NoError(t, requireLoopback(addr, config.Auth{Auth: config.AuthKeys}), addr)
		err := RunAPI(t.Context(), config.API{HTTP: config.HTTP{Addr: addr}}, quietDeps())
		require.ErrorIs(t, err, errNeedsKeys, "refused before anything is opened")
	}
}

func TestServedQueues_FollowTheNamesThatWereAskedFor(t *testing.T) {
	t.Parallel()
	all, suspect := servedQueues(nil)
	require.Len(t, all, 6)
	require.True(t, suspect)

	some, suspect := servedQueues([]string{"high", "gpu", "low-new"})
	require.False(t, suspect)
	require.Equal(t, map[string]int{
		"high": all["high"], "high-new": all["high-new"], "low": all["low"], "low-new": all["low-new"],
		"gpu": all["default"], "gpu-new": all["default-new"],
	}, some)

	_, suspect = servedQueues([]string{"gpu", "suspect"})
	require.True(t, suspect)
}

func TestMain_AnswersHelpAndVersionAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	var cfg config.Worker
	program := Program{Name: "worker", Purpose: "Runs steps.", Config: &cfg, Log: func() config.Log { return cfg.Log }}
	call := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Main(program, args, &out, &errs)
		return code, out.String(), errs.String()
	}
	for _, flag := range []string{"-h", "--help"} {
		code, out, _ := call(flag)
		require.Equal(t, 0, code)
		for _, name := range []string{"PAWL_REDIS_URL", "PAWL_CONCURRENCY", "PAWL_WORKER_QUEUES", "(required)", "15s"} {
			require.Contains(t, out, name)
		}
		require.NotContains(t, out, "PAWL_HTTP_ADDR")
	}
	code, out, _ := call("--version")
	require.Equal(t, 0, code)
	require.Contains(t, out, "worker ")
	code, _, errs := call("--port", "1")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "takes no arguments")
}

func TestMain_RefusesSettingsThatAreNotRight(t *testing.T) {
	t.Setenv("PAWL_REDIS_URL", "redis://:hunter2@127.0.0.1:1")
	t.Setenv("PAWL_CLAIM_TLL", "2s")
	var cfg config.Reaper
	var out bytes.Buffer
	code := Main(Program{Name: "reaper", Config: &cfg, Log: func() config.Log { return cfg.Log }}, nil, &out, &out)
	require.Equal(t, 2, code)
	require.Contains(t, out.String(), "did you mean PAWL_CLAIM_TTL?")
	require.NotContains(t, out.String(), "hunter2")
}

func TestConnectRedis_StrictRefusesAnUnfitRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cfg := redisConfig{url: server.URL(), program: "test"}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	rdb, facts, err := connectRedis(t.Context(), cfg, logger)
	require.NoError(t, err)
	require.NoError(t, rdb.Close())
	require.Len(t, facts.Warnings, 1)
	require.Contains(t, log.String(), "REDIS IS NOT FIT TO HOLD EXECUTIONS: persistence is off")
	cfg.strict = true
	_, _, err = connectRedis(t.Context(), cfg, logger)
	require.ErrorIs(t, err, redisconn.ErrUnfit)
}

func TestConnectRedis_AWrongPasswordIsFinal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	require.NoError(t, server.Client(t).ConfigSet(t.Context(), "requirepass", "right").Err())
	began := time.Now()
	url := strings.Replace(server.URL(), "redis://", "redis://:hunter2@", 1)
	_, _, err := connectRedis(t.Context(), redisConfig{url: url, program: "test"}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "WRONGPASS")
	require.NotContains(t, err.Error(), "hunter2")
	require.Less(t, time.Since(began), redisPatience/2)
}

func TestConnectRedis_NamesTheVariableOfAWrongURL(t *testing.T) {
	t.Parallel()
	_, _, err := connectRedis(t.Context(), redisConfig{url: "localhost:6379", program: "test"}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "PAWL_REDIS_URL: ")
}

func TestAwaitRedis_SaysWhyWhenItsPatienceEnds(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	rdb := redis.NewClient(&redis.Options{Addr: free.Addr().String(), MaxRetries: -1})
	defer func() { require.NoError(t, rdb.Close()) }()
	_, err = awaitRedis(t.Context(), rdb, 700*time.Millisecond, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "set PAWL_REDIS_URL to another")
	require.ErrorContains(t, err, "connection refused", "and not that our own deadline has passed")

	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err = awaitRedis(stopped, rdb, time.Minute, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, context.Canceled, "a program that is stopped meanwhile stops in order")
}

func TestConnectRedis_WaitsForARedisThatStartsLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	type answer struct {
		rdb redis.UniversalClient
		err error
	}
	connected := make(chan answer, 1)
	go func() {
		rdb, _, err := connectRedis(t.Context(), redisConfig{url: server.URL(), program: "test"}, slog.New(slog.DiscardHandler))
		connected <- answer{rdb, err}
	}()
	server.Restart(t)
	got := <-connected
	require.NoError(t, got.err)
	require.NoError(t, got.rdb.Close())
}

func TestAdmin_IsReadyWhileRedisAnswersAndNotWhileItStops(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := &admin{program: "worker", rdb: server.Client(t), facts: redisconn.Facts{Version: "7.0", AppendFsync: "always"}}
	get := func(path string) (int, string) {
		recorder := httptest.NewRecorder()
		a.handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		return recorder.Code, recorder.Body.String()
	}
	code, body := get("/readyz")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `"appendFsync":"always"`)
	a.stopping.Store(true)
	code, body = get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "stopping")
	a.stopping.Store(false)
	server.Kill()
	code, _ = get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	code, _ = get("/livez")
	require.Equal(t, http.StatusOK, code)
	code, _ = get("/metrics")
	require.Equal(t, http.StatusNotFound, code)
}

func TestTogether_EndsTheOthersAndReturnsTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := together(t.Context(),
		func(context.Context) error { return broken },
		func(ctx context.Context) error { <-ctx.Done(); return nil },
	)
	require.ErrorIs(t, err, broken)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, together(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }))
}

func TestInOrder_EndsTheFirstTaskFirst(t *testing.T) {
	t.Parallel()
	ended := make(chan string, 3)
	named := func(name string) task {
		return func(ctx context.Context) error {
			<-ctx.Done()
			ended <- name
			return nil
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, inOrder(ctx, named("api"), named("worker"), named("reaper")))
	require.Equal(t, []string{"api", "worker", "reaper"}, []string{<-ended, <-ended, <-ended})

	broken := errors.New("broken")
	canceled := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	err := inOrder(t.Context(), canceled, func(context.Context) error { return broken })
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, context.Canceled, "whoever is told to end must not make the error look like a stop")
}

func TestListen_SaysWhatToDoAboutABusyPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	_, err = listen(t.Context(), "PAWL_HTTP_ADDR", taken.Addr().String())
	require.EqualError(t, err, "cannot listen on "+taken.Addr().String()+
		": address already in use: stop the program that uses it, or set PAWL_HTTP_ADDR to another address")
	_, err = listen(t.Context(), "PAWL_HTTP_ADDR", "127.0.0.1:99999")
	require.ErrorContains(t, err, "invalid port: set PAWL_HTTP_ADDR to another address")
}

func TestDemoLookup_AnswersAndRefuses(t *testing.T) {
	t.Parallel()
	post := func(body string) (int, string) {
		recorder := httptest.NewRecorder()
		demoLookup(recorder, httptest.NewRequest(http.MethodPost, demoPath, strings.NewReader(body)))
		return recorder.Code, recorder.Body.String()
	}
	code, body := post(`{"executionId":"e","callId":"c","arguments":{"city":"Oslo"}}`)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `"city":"Oslo"`)
	for _, bad := range []string{``, `{`, `{"arguments":{}}`, `{"arguments":{"city":7}}`} {
		code, _ = post(bad)
		require.Equal(t, http.StatusBadRequest, code, bad)
	}
}

func TestDurability_SaysItInWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, "append-only file, appendfsync always", durability(redisconn.Facts{AppendOnly: "yes", AppendFsync: "always"}))
	require.Equal(t, "none: memory only", durability(redisconn.Facts{AppendOnly: "no", Snapshots: "none"}))
	require.Equal(t, "snapshots only (3600 1)", durability(redisconn.Facts{AppendOnly: "no", Snapshots: "3600 1"}))
	require.Equal(t, "unknown", durability(redisconn.Facts{AppendOnly: "unknown"}))
}
