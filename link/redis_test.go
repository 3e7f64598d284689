package link_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link/linktest"
)

// onRedis is a store on the shared Redis under a prefix of its own, and its dump.
func onRedis(t *testing.T) (*redisjournal.Store, func() map[string]string) {
	t.Helper()
	prefix, rdb := redistest.Prefix(), redistest.Shared(t).Client(t)
	store, err := redisjournal.New(rdb, redisjournal.Config{Prefix: prefix, Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store, func() map[string]string { return redistest.Dump(t, rdb, prefix) }
}

func TestServiceOnRedis(t *testing.T) {
	t.Parallel()
	linktest.Run(t, func(t *testing.T) linktest.Harness {
		t.Helper()
		store, dump := onRedis(t)
		return linktest.Harness{As: service(t, store).As, Store: store, Dump: dump}
	})
}

func TestClientOnRedis(t *testing.T) {
	t.Parallel()
	linktest.Run(t, func(t *testing.T) linktest.Harness {
		t.Helper()
		store, dump := onRedis(t)
		return linktest.Harness{As: overHTTP(t, service(t, store)), Store: store, Dump: dump}
	})
}
