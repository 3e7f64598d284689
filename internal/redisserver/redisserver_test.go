package redisserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redisserver"
	"github.com/pawl-run/pawl/internal/redistest"
)

func TestAServerAnswersUntilItIsStopped(t *testing.T) {
	t.Parallel()
	path, err := redistest.Program()
	require.NoError(t, err)
	server, err := redisserver.Start(t.Context(), path, t.TempDir(), "--appendonly", "yes")
	require.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	require.NoError(t, rdb.Ping(t.Context()).Err())
	require.NoError(t, rdb.Close())
	require.NoError(t, server.Err())
	server.Stop()
	select {
	case <-server.Done():
	case <-time.After(time.Second):
		require.Fail(t, "it still runs")
	}
	require.NoError(t, server.Err(), "it ended in order")
	server.Stop() // again is harmless
}

func TestWhatDoesNotComeUpIsAnErrorThatNamesItsLog(t *testing.T) {
	t.Parallel()
	path, err := redistest.Program()
	require.NoError(t, err)
	_, err = redisserver.Start(t.Context(), path, t.TempDir(), "--no-such-setting", "yes")
	require.ErrorContains(t, err, "redis.log")
	require.ErrorContains(t, err, "it ended at once")
	_, err = redisserver.Start(t.Context(), "/nowhere/redis-server", t.TempDir())
	require.ErrorContains(t, err, "/nowhere/redis-server")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = redisserver.Start(ctx, path, t.TempDir())
	require.Error(t, err)
}
