package gather

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
)

// rider has commands that wait until they are boarded.
type rider struct {
	mu      sync.Mutex
	waiting []redis.Cmder
	arrived [][]redis.Cmder
}

func (r *rider) wait(cmds ...redis.Cmder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, cmds...)
}

func (r *rider) Board() (cmds []redis.Cmder, arrived func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cmds, r.waiting = r.waiting, nil
	return cmds, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.arrived = append(r.arrived, cmds)
	}
}

func (r *rider) trips() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.arrived)
}

func (g *gate) size(n int) int64 {
	count, ok := g.batches.Load(n)
	if !ok {
		return 0
	}
	return count.(interface{ Load() int64 }).Load()
}

func incr(ctx context.Context, key string) *redis.Cmd { return redis.NewCmd(ctx, "incr", key) }

// free is a group that has sent nothing, with a rider.
func free(t *testing.T) (group *Group, r *rider, at *gate, key string) {
	t.Helper()
	rdb := redistest.Shared(t).Client(t)
	at = &gate{open: make(chan struct{}), entered: make(chan struct{}, 1)}
	rdb.AddHook(at)
	group, r = New(rdb), &rider{}
	group.Carry(r)
	return group, r, at, redistest.Prefix()
}

func TestARiderTravelsBehindTheNextCall(t *testing.T) {
	t.Parallel()
	group, r, at, key := free(t)
	close(at.open)
	first, second, wrong := incr(t.Context(), key), incr(t.Context(), key), redis.NewCmd(t.Context(), "incr")
	r.wait(second, wrong)
	require.NoError(t, group.Do(t.Context(), first))
	require.Equal(t, int64(1), first.Val())
	require.Equal(t, int64(2), second.Val())
	require.Error(t, wrong.Err(), "each has its own error")
	require.Equal(t, 1, r.trips())
	require.Equal(t, int64(1), at.size(3), "one pipeline")

	require.NoError(t, group.Do(t.Context(), incr(t.Context(), key)))
	require.Equal(t, 1, r.trips(), "nothing waits any more")
	require.Equal(t, int64(1), at.alone.Load())
}

func TestARiderTravelsWithWhatIsSentAlone(t *testing.T) {
	t.Parallel()
	group, r, at, key := free(t)
	close(at.open)
	r.wait(incr(t.Context(), key))
	look := incr(t.Context(), key)
	group.Along(t.Context(), look)
	require.Equal(t, int64(1), look.Val())
	require.Equal(t, 1, r.trips())
	require.Equal(t, int64(1), at.size(2))
}

func TestARiderDepartsByItselfWhereNobodyGoes(t *testing.T) {
	t.Parallel()
	group, r, at, key := free(t)
	close(at.open)
	group.Depart(nil)
	require.Zero(t, r.trips(), "there is nothing to send")
	r.wait(incr(t.Context(), key))
	group.Depart(nil)
	require.Equal(t, 1, r.trips())
	require.Equal(t, int64(1), at.alone.Load())
}

func TestARiderThatDepartsMeanwhileTravelsWithThoseThatWait(t *testing.T) {
	t.Parallel()
	group, at, key, rest := held(t)
	nearby(group, near) // one at a time from now on
	r := &rider{}
	group.Carry(r)
	r.wait(incr(t.Context(), fmt.Sprint(key, "rider")))
	rest.Go(func() { group.Depart(nil) })
	until(t, func() bool { return group.waits() == 1 })
	call := incr(t.Context(), fmt.Sprint(key, "call"))
	rest.Go(func() { _ = group.Do(context.Background(), call) })
	until(t, func() bool { return group.waits() == 2 })
	close(at.open)
	rest.Wait()
	require.Equal(t, int64(1), call.Val())
	require.Equal(t, 1, r.trips())
	require.Equal(t, int64(1), at.size(2), "in one pipeline")
}

func TestOneThatHasArrivedWaitsForNoTurn(t *testing.T) {
	t.Parallel()
	group, at, _, rest := held(t)
	over, returned := make(chan struct{}), make(chan struct{})
	rest.Go(func() {
		defer close(returned)
		group.Depart(over)
	})
	until(t, func() bool { return group.waits() == 1 })
	close(over)
	<-returned
	require.Zero(t, group.waits())
	close(at.open)
	rest.Wait()
}

// A caller's own time must not decide about what others have put aboard.
func TestTheContextOfACallDoesNotEndItsRiders(t *testing.T) {
	t.Parallel()
	group, r, at, key := free(t)
	ctx, cancel := context.WithCancel(t.Context())
	riding := incr(t.Context(), key)
	r.wait(riding)
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		_ = group.Do(ctx, incr(ctx, key))
	}()
	<-at.entered
	cancel()
	close(at.open)
	<-returned
	require.NoError(t, riding.Err())
	require.Equal(t, int64(2), riding.Val())
}
