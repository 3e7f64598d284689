package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
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

func TestOneKeyMakesOneExecutionAlsoAfterRedisWasKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	store, err := redisjournal.New(server.Client(t), redisjournal.Config{Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	a := serve(t, store)
	const n = 50
	answers := make(chan answer, n)
	for range n {
		go func() { answers <- a.do(post, creating, validBody, "Idempotency-Key: order-7") }()
	}
	statuses, places := map[int]int{}, map[string]int{}
	for range n {
		got := <-answers
		statuses[got.StatusCode]++
		places[got.Header.Get("Location")]++
	}
	require.Equal(t, map[int]int{202: 1, 200: n - 1}, statuses)
	require.Len(t, places, 1)
	server.Kill()
	refused(t, a.do(post, creating, validBody, "Idempotency-Key: order-7"), 503, execution.Unavailable, "")
	server.Restart(t)
	var again answer
	require.Eventually(t, func() bool {
		again = a.do(post, creating, validBody, "Idempotency-Key: order-7")
		return again.StatusCode != 503
	}, patience, 50*time.Millisecond)
	require.Equal(t, 200, again.StatusCode, again.body)
	require.Contains(t, places, again.Header.Get("Location"), "the same execution")
	other := strings.Replace(validBody, "hello", "goodbye", 1)
	refused(t, a.do(post, creating, other, "Idempotency-Key: order-7"), 409, execution.IdempotencyKeyReused, "Idempotency-Key")
	open, err := store.OpenExecutions(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, open)
}
