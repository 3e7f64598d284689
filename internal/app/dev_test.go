package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/redisconn"
	"github.com/pawl-run/pawl/internal/redisserver"
	"github.com/pawl-run/pawl/internal/redistest"
)

const jobTimeout = 30 * time.Second

// devConfig are the settings of a `pawl dev` on a free port, with short times.
func devConfig(dir string) config.Dev {
	return config.Dev{
		DevStore: config.DevStore{DataDir: dir},
		Journal: config.Journal{
			HandoffGrace: time.Second, Retention: time.Hour, CleanupTimeout: time.Second, MaxEvents: 1000,
		},
		HTTP: config.HTTP{Addr: "127.0.0.1:0", MaxBody: 1 << 20},
		Work: config.Work{
			Concurrency: 10, ClaimTTL: 2 * time.Second, DrainTimeout: 5 * time.Second, MaxReclaims: 5, NodesPerTask: 1,
		},
		Reap: config.Reap{ReapInterval: 200 * time.Millisecond},
	}
}

// startDev runs dev until stop, which waits for its end.
func startDev(t *testing.T, cfg config.Dev) (api *client.Client, started Started, stop func()) {
	t.Helper()
	return startDevWith(t, cfg, quietDeps())
}

func startDevWith(
	t *testing.T, cfg config.Dev, deps Deps,
) (api *client.Client, started Started, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	up, done := make(chan Started, 1), make(chan error, 1)
	go func() { done <- RunDev(ctx, cfg, deps, func(s Started) { up <- s }) }()
	select {
	case started = <-up:
	case err := <-done:
		t.Fatalf("dev ended while it started: %v", err)
	case <-time.After(jobTimeout):
		t.Fatal("dev does not start")
	}
	api, err := client.New(started.URL, client.Config{})
	require.NoError(t, err)
	t.Cleanup(api.Close)
	return api, started, func() {
		cancel()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(jobTimeout):
			t.Fatal("dev does not stop")
		}
	}
}

func awaitState(t *testing.T, api *client.Client, id execution.ID, state execution.State) execution.View {
	t.Helper()
	deadline := time.Now().Add(jobTimeout)
	view, err := api.Execution(t.Context(), id)
	for err == nil && view.State != state && time.Now().Before(deadline) {
		view, err = api.Wait(t.Context(), id, view.Version, time.Second)
	}
	require.NoError(t, err)
	require.Equal(t, state, view.State)
	return view
}

// runDemo carries the demo job to its end, with a person's answer.
func runDemo(t *testing.T, api *client.Client) {
	t.Helper()
	created, err := api.Create(t.Context(), "", execution.CreateRequest{
		Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo, please"},
	})
	require.NoError(t, err)
	answerDemo(t, api, created.View.ID)
}

func answerDemo(t *testing.T, api *client.Client, id execution.ID) {
	t.Helper()
	view := awaitState(t, api, id, execution.WaitingForInput)
	_, err := api.SubmitInput(t.Context(), id, execution.SubmitInput{OperationID: "op-1", Input: execution.Input{
		Type: execution.ElicitationResponse, RequestID: view.Interaction.RequestID, Text: "yes",
	}})
	require.NoError(t, err)
	require.Equal(t, "Booked.", awaitState(t, api, id, execution.Completed).Outcome.Answer)
}

func TestRunDev_CarriesTheDemoJobOnAnEmbeddedRedis(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	api, started, stop := startDev(t, devConfig(filepath.Join(t.TempDir(), ".pawl")))
	require.Contains(t, started.Redis, "WARNING")
	require.Contains(t, started.Redis, "memory only")
	require.Equal(t, []string{"demo"}, started.Agents)
	runDemo(t, api)
	stop()
}

func TestRunDev_KeepsExecutionsAcrossARestartOnARedisServerOfItsOwn(t *testing.T) {
	t.Parallel()
	cfg := devConfig(filepath.Join(t.TempDir(), ".pawl"))
	api, started, stop := startDev(t, cfg)
	require.Contains(t, started.Redis, "redis-server of its own")
	runDemo(t, api)
	created, err := api.Create(t.Context(), "", execution.CreateRequest{
		Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Bergen, please"},
	})
	require.NoError(t, err)
	awaitState(t, api, created.View.ID, execution.WaitingForInput)

	ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
	defer cancel()
	err = RunDev(ctx, cfg, quietDeps(), func(Started) {})
	require.ErrorContains(t, err, "is used by another `pawl dev`")
	stop()

	cfg.Addr = strings.TrimPrefix(started.URL, "http://")
	again, _, stop := startDev(t, cfg)
	answerDemo(t, again, created.View.ID)
	stop()
}

func TestRunDev_LeavesTheTerminalReadable(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	deps := Deps{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	api, _, stop := startDevWith(t, devConfig(filepath.Join(t.TempDir(), ".pawl")), deps)
	runDemo(t, api)
	_, err := api.Execution(t.Context(), execution.NewID(1))
	require.ErrorIs(t, err, execution.ErrNotFound)
	stop()
	said := log.String()
	require.Equal(t, 1, strings.Count(said, " msg=redis "), "one program tells what Redis is\n%s", said)
	require.NotContains(t, said, "msg=request")
	require.Regexp(t, `msg=drained program=worker took=\S+ done=[1-9]\d* failed=0 putBack=\d+ stillRunning=0 unplaced=0\n`, said)
	require.NotContains(t, said, "{", "fields are plain")
}

// lockedBuffer is a log that is read when its writers have ended.
type lockedBuffer struct {
	mu  sync.Mutex
	log strings.Builder
}

func (b *lockedBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(line)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

func TestAwaitDevRedis_SaysOnceWhatIsWrong(t *testing.T) {
	t.Parallel()
	logger := slog.New(slog.DiscardHandler)
	at := func(url string) config.DevStore { return config.DevStore{RedisURL: config.Secret(url)} }
	_, err := awaitDevRedis(t.Context(), at("localhost:6379"), time.Second, logger)
	require.ErrorContains(t, err, "PAWL_REDIS_URL: ")

	server := redistest.Start(t)
	require.NoError(t, server.Client(t).ConfigSet(t.Context(), "requirepass", "hunter2").Err())
	url := strings.Replace(server.URL(), "redis://", "redis://:hunter2@", 1)
	store, err := awaitDevRedis(t.Context(), at(url), jobTimeout, logger)
	require.NoError(t, err)
	require.Equal(t, url, store.url)
	require.NotContains(t, store.about, "hunter2")
	strict := at(url)
	strict.Strict = true
	_, err = awaitDevRedis(t.Context(), strict, jobTimeout, logger)
	require.ErrorIs(t, err, redisconn.ErrUnfit)
	server.Kill()
	_, err = awaitDevRedis(t.Context(), at(server.URL()), 700*time.Millisecond, logger)
	require.ErrorContains(t, err, "set PAWL_REDIS_URL to another")
}

func TestStartRedisServer_EndsWhatAKilledRunLeftBehind(t *testing.T) {
	t.Parallel()
	path, err := redistest.Program()
	require.NoError(t, err)
	dir, logger := t.TempDir(), slog.New(slog.DiscardHandler)
	leftover, err := redisserver.Start(t.Context(), path, dir, "--appendonly", "yes")
	require.NoError(t, err)
	t.Cleanup(leftover.Stop)
	require.NoError(t, os.WriteFile(filepath.Join(dir, addrFile), []byte(leftover.Addr()+"\n"), 0o600))
	rdb := redis.NewClient(&redis.Options{Addr: leftover.Addr()})
	require.NoError(t, rdb.Set(t.Context(), "kept", "yes", 0).Err())
	require.NoError(t, rdb.Close())

	server, err := startRedisServer(t.Context(), path, dir, logger)
	require.NoError(t, err)
	t.Cleanup(server.stop)
	select {
	case <-leftover.Done():
	case <-time.After(jobTimeout):
		t.Fatal("the leftover still runs")
	}
	rdb = redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(server.url, "redis://")})
	kept, err := rdb.Get(t.Context(), "kept").Result()
	require.NoError(t, err)
	require.Equal(t, "yes", kept)
	require.NoError(t, rdb.Close())
}

func TestRunDev_EndsWhenItsRedisServerDies(t *testing.T) {
	t.Parallel()
	cfg := devConfig(filepath.Join(t.TempDir(), ".pawl"))
	ended := make(chan struct{})
	close(ended)
	err := runThree(t.Context(), cfg, quietDeps().withDefaults(), &devRedis{url: "redis://127.0.0.1:1", ended: ended})
	require.ErrorContains(t, err, "redis-server ended by itself")
}
