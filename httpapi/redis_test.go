package httpapi_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal/redisjournal"
)

// onRedis is a store as one process has it: over its own connections.
func onRedis(t *testing.T, prefix string) (*redisjournal.Store, *redis.Client) {
	t.Helper()
	rdb := redistest.Shared(t).Client(t)
	store, err := redisjournal.New(rdb, redisjournal.Config{Prefix: prefix, Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store, rdb
}

func TestBadInputIsRefusedByFieldAndWritesNothingToRedis(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix()
	store, rdb := onRedis(t, prefix)
	a := serve(t, store)
	id := string(a.submit().ID)
	before := redistest.Dump(t, rdb, prefix)
	require.NotEmpty(t, before)
	for _, r := range append(bodyRefusals(), requestRefusals(id)...) {
		refused(t, a.do(r.method, r.path, r.body, r.headers...), r.status, r.code, r.field)
		require.Equal(t, before, redistest.Dump(t, rdb, prefix), r.name)
	}
}

func TestCaseF3_AStreamCutAtEveryEventGoesOnAtAnotherReplicaOverRedis(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix()
	first, _ := onRedis(t, prefix)
	second, _ := onRedis(t, prefix)
	cutAtEveryEvent(t, first, second)
}
