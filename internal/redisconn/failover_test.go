package redisconn

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
)

const failoverTimeout = 30 * time.Second

// Case H4: a client of its own accord goes on calling a dead master for a minute.
func TestOpen_APromotedReplicaOfAClusterIsFoundWithinSeconds(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	replica := cluster.AddReplica(t, 0)
	client := open(t, cluster.URL())
	key := keyOn(t, client.(*redis.ClusterClient), cluster.Masters[0].Addr())
	require.NoError(t, client.Set(t.Context(), key, "before", 0).Err())
	cluster.Masters[0].Kill()
	require.Eventually(t, func() bool {
		promoted, err := replica.Promoted(t.Context())
		return err == nil && promoted
	}, 2*failoverTimeout, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		return client.Set(t.Context(), key, "after", 0).Err() == nil
	}, failoverTimeout, 10*time.Millisecond)
}

// keyOn is a key that the master holds.
func keyOn(t *testing.T, client *redis.ClusterClient, master string) string {
	t.Helper()
	for i := range 1000 {
		key := fmt.Sprint("key", i)
		holder, err := client.MasterForKey(t.Context(), key)
		require.NoError(t, err)
		if holder.Options().Addr == master {
			return key
		}
	}
	require.Fail(t, "the master holds no key")
	return ""
}

func TestOpen_APromotedReplicaIsFoundByItsSentinel(t *testing.T) {
	t.Parallel()
	pair := redistest.StartPair(t)
	client := open(t, pair.URL())
	require.NoError(t, client.Set(t.Context(), "key", "before", 0).Err())
	facts, err := Inspect(t.Context(), client)
	require.NoError(t, err)
	require.Equal(t, "standalone", facts.Mode, "what the server behind the Sentinel says of itself")
	pair.Primary.Kill()
	require.Eventually(t, func() bool {
		return client.Set(t.Context(), "key", "after", 0).Err() == nil
	}, failoverTimeout, 10*time.Millisecond)
	promoted, err := pair.Replica.Promoted(t.Context())
	require.NoError(t, err)
	require.True(t, promoted)
}
