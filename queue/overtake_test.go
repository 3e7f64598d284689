package queue

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A wake-up that was held back goes out on another connection than the tasks it tells of: sent before them, it would wake a worker
// that finds nothing, and they would wait for the next survey.
func TestAWakeUpThatIsOwedNeverOvertakesItsTasks(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	k := newTokens(w.rdb, nil, "pawl", quiet())
	owed := func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.owed[w.queue]
	}
	k.next[w.queue] = time.Now().Add(time.Hour) // one has just gone out
	var sent func()
	commands, err := w.rdb.Pipelined(context.Background(), func(pipe redis.Pipeliner) error {
		sent = k.push(context.Background(), pipe, w.queue, 1)
		return nil
	})
	require.NoError(t, err)
	require.Empty(t, commands)
	require.False(t, owed(), "its tasks are not written yet")
	sent()
	require.True(t, owed())
}
