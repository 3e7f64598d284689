package queue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestRepairsBesideEachOther: several reapers mend the same queue at once, while tasks come and go. Each thing is mended once, and
// nothing that is sound is touched.
func TestRepairsBesideEachOther(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	const broken = 2*repairPage + 30
	healthy := map[string]bool{}
	for i := range 40 {
		healthy[take(t, w, w.task(i))] = true
	}
	pipe := w.rdb.Pipeline()
	for i := range broken {
		pipe.LPush(ctx, activeKey(w.queue), fmt.Sprint("ghost", i))
		pipe.ZAdd(ctx, leaseKey(w.queue), redis.Z{Score: 1, Member: fmt.Sprint("orphan", i)})
	}
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	var fixed atomic.Int64
	var wait sync.WaitGroup
	for range 6 {
		c := w.client(t)
		wait.Go(func() {
			for range 6 {
				n, err := c.Repair(ctx)
				if err != nil {
					t.Error(err)
				}
				fixed.Add(int64(n))
			}
		})
	}
	other := w.client(t)
	for i := range 40 {
		require.NoError(t, other.Enqueue(ctx, w.task(100+i)))
	}
	wait.Wait()
	for range 4 { // whatever the others hid from each other
		n, err := other.Repair(ctx)
		require.NoError(t, err)
		fixed.Add(int64(n))
	}
	require.LessOrEqual(t, fixed.Load(), int64(2*broken+1), "and the name of the queue")
	require.GreaterOrEqual(t, fixed.Load(), int64(2*broken))
	active := w.rdb.LRange(ctx, activeKey(w.queue), 0, -1).Val()
	require.Len(t, active, len(healthy))
	for _, id := range active {
		require.True(t, healthy[id], id)
	}
	require.EqualValues(t, len(healthy), w.rdb.ZCard(ctx, leaseKey(w.queue)).Val())
	require.EqualValues(t, 40, w.rdb.LLen(ctx, pendingKey(w.queue)).Val())
}
