package mcptool_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/mcptool"
)

// buffer is a log.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

func TestAStartedServerSeesOnlyWhatItMay(t *testing.T) {
	t.Setenv("PAWL_REDIS_URL", "redis://:s3cret@127.0.0.1:1") // not for any server
	log := &buffer{}
	cfg := quick()
	cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	set := newSet(t, newServers(t, cfg), stdio("plain", nil))
	env := succeed(t, set, "s_env", `{}`)
	require.Contains(t, env, "SECRET=s3cret")
	require.Contains(t, env, "PATH=")
	require.NotContains(t, env, "PAWL_REDIS_URL")
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "started with ***") }, soon, 5*time.Millisecond)
	require.Contains(t, log.String(), "level=DEBUG")
	require.NotContains(t, log.String(), "s3cret")
}

func TestCloseEndsWhatWasStarted(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "deaf"} {
		log := t.TempDir() + "/starts"
		cfg := quick()
		cfg.CloseTimeout, cfg.ListTimeout = 200*time.Millisecond, 5*time.Second
		servers, err := mcptool.NewServers(cfg)
		require.NoError(t, err)
		set := newSet(t, servers, stdio(mode, map[string]string{"START_LOG": log}))
		done := make(chan error, 1)
		go func() {
			_, err := set.Find("s_block").Call(t.Context(), invocation(`{"log":"`+log+`"}`), nil)
			done <- err
		}()
		want := map[string]int{"plain": 2, "deaf": 1}[mode]
		require.Eventually(t, func() bool { return len(lines(t, log)) == want }, soon, 5*time.Millisecond)
		began := time.Now()
		servers.Close()
		require.Less(t, time.Since(began), soon/2, "the call has more time than that")
		require.Error(t, <-done)
		pid, err := strconv.Atoi(lines(t, log)[0])
		require.NoError(t, err)
		process, err := os.FindProcess(pid)
		require.True(t, err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone))
		_, err = set.Tools(t.Context())
		if mode == "deaf" {
			failed(t, err, local.Transient, "mcp_unavailable")
		}
		_, err = call(t, t.Context(), newSet(t, servers, stdio(mode, nil)), "s_echo", `{}`)
		failed(t, err, local.Transient, "mcp_unavailable")
	}
}
