package redisjournal

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// The embedded server is another implementation of Redis and of Lua: that the scripts run on it proves nothing but that.
func TestTheScriptsRunOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	w := openOn(t, client)
	id := w.reserve()
	sub, err := w.store.Follow(w.ctx(), id)
	require.NoError(t, err)
	_, err = w.store.Cancel(w.ctx(), id)
	require.NoError(t, err)
	changed(t, sub)
	require.NoError(t, sub.Close())
	walk(w)
	talk := elsewhere("k")
	reserved, err := w.store.Reserve(w.ctx(), keyed("k", "f", talk))
	require.NoError(t, err)
	require.True(t, reserved.Created)
	held := w.claim(reserved.Execution.ID, "n1")
	paused, err := w.store.Pause(w.ctx(), held.Execution.ID)
	require.NoError(t, err)
	require.True(t, paused.Pending)
	w.now = w.now.Add(time.Hour)
	due, err := w.store.Sweep(w.ctx(), held.Execution.ID.Partition(), 10)
	require.NoError(t, err)
	require.NotEmpty(t, due)
	resumed, err := w.store.Pause(w.ctx(), held.Execution.ID)
	require.NoError(t, err)
	require.Equal(t, execution.Suspended, resumed.Execution.State)
	_, err = w.store.Resume(w.ctx(), held.Execution.ID, journal.Resumption{})
	require.NoError(t, err)
	w.claim(held.Execution.ID, "n2")
	all := pages(w.ctx(), t, w.store, journal.Listing{Limit: 1000})
	require.Greater(t, len(all), 2)
	require.Equal(t, all, pages(w.ctx(), t, w.store, journal.Listing{Limit: 1}))
	require.Equal(t, []execution.ID{held.Execution.ID},
		pages(w.ctx(), t, w.store, journal.Listing{Limit: 1, ConversationID: talk}))
}
