package link_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link/linktest"
)

// onRedis is the harness of a store on the shared Redis under a prefix of its own, without a link.
func onRedis(t *testing.T) linktest.Harness {
	t.Helper()
	prefix, rdb := redistest.Prefix(), redistest.Shared(t).Client(t)
	store, err := redisjournal.New(rdb, redisjournal.Config{Prefix: prefix, Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return linktest.Harness{
		Store: store, Dump: func() map[string]string { return redistest.Dump(t, rdb, prefix) },
		DamageEvent: func(id execution.ID, n execution.Sequence, timeToo bool) {
			key := fmt.Sprintf("%s:{p%02d}:x:%s:events", prefix, id.Partition(), id)
			redistest.DamageEvent(t, rdb, key, int64(n)-1, timeToo) //nolint:gosec // it is small
		},
	}
}

func TestServiceOnRedis(t *testing.T) {
	t.Parallel()
	linktest.Run(t, func(t *testing.T) linktest.Harness {
		t.Helper()
		h := onRedis(t)
		h.As = service(t, h.Store).As
		return h
	})
}

func TestClientOnRedis(t *testing.T) {
	t.Parallel()
	linktest.Run(t, func(t *testing.T) linktest.Harness {
		t.Helper()
		h := onRedis(t)
		h.As = overHTTP(t, service(t, h.Store))
		return h
	})
}
