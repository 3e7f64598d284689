package gather

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const deadline = time.Minute

// gate lets no command of its client pass until it is opened, and counts round trips.
type gate struct {
	open    chan struct{}
	entered chan struct{}
	alone   atomic.Int64
	batches sync.Map // size → how many
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (g *gate) pass(ctx context.Context) error {
	select {
	case g.entered <- struct{}{}:
	default:
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "incr" && cmd.Name() != "rpush" { // what a connection says of itself
			return next(ctx, cmd)
		}
		g.alone.Add(1)
		if err := g.pass(ctx); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name == "incr" || name == "rpush" {
			n, _ := g.batches.LoadOrStore(len(cmds), new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			if err := g.pass(ctx); err != nil {
				return err
			}
		}
		return next(ctx, cmds)
	}
}

// held is a Group all of whose lanes are busy until open.
func held(t *testing.T) (group *Group, at *gate, key string, rest *sync.WaitGroup) {
	t.Helper()
	server := redistest.Shared(t)
	rdb := server.Client(t)
	at = &gate{open: make(chan struct{}), entered: make(chan struct{}, 1)}
	rdb.AddHook(at)
	group, key, rest = New(rdb), redistest.Prefix(), &sync.WaitGroup{}
	for range lanes {
		rest.Go(func() {
			_ = group.Do(context.Background(), redis.NewCmd(context.Background(), "rpush", key, "alone"))
		})
	}
	until(t, func() bool { return at.alone.Load() == lanes })
	return group, at, key, rest
}

func until(t *testing.T, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, deadline, time.Millisecond)
}

func (g *Group) waits() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// nearby tells the group of pipelines that took so long.
func nearby(g *Group, took time.Duration) {
	for range recent {
		g.took(took)
	}
}

func TestOnePipelineIsUnderWayToANearServer(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rdb := server.Client(t)
	at := &gate{open: make(chan struct{}), entered: make(chan struct{}, 1)}
	rdb.AddHook(at)
	group, key, rest := New(rdb), redistest.Prefix(), &sync.WaitGroup{}
	nearby(group, near)
	send := func() {
		rest.Go(func() { _ = group.Do(t.Context(), redis.NewCmd(t.Context(), "incr", key)) })
	}
	send()
	until(t, func() bool { return at.alone.Load() == 1 })
	group.mu.Lock()
	group.began = time.Now().Add(time.Minute) // it will not be late
	group.mu.Unlock()
	send()
	until(t, func() bool { return group.waits() == 1 })

	group.mu.Lock()
	group.began = time.Now().Add(-2 * late)
	group.mu.Unlock()
	send()
	until(t, func() bool { return at.alone.Load() == 2 }) // beside one that is late
	close(at.open)
	rest.Wait()
	require.Equal(t, int64(3), rdb.IncrBy(t.Context(), key, 0).Val())
	group.mu.Lock()
	defer group.mu.Unlock()
	require.Zero(t, group.underWay)
}

func TestTwoPipelinesAreUnderWayToAFarServer(t *testing.T) {
	t.Parallel()
	group, at, _, rest := held(t)
	nearby(group, near)
	require.Equal(t, 1, group.most)
	nearby(group, near+1)
	require.Equal(t, lanes, group.most)
	close(at.open)
	rest.Wait()
}

func TestCommandsThatComeMeanwhileTravelTogether(t *testing.T) {
	t.Parallel()
	group, at, key, rest := held(t)
	const n = 20
	replies := make([][2]*redis.Cmd, n)
	for i := range replies {
		ctx := t.Context()
		first, second := redis.NewCmd(ctx, "incr", fmt.Sprint(key, i)), redis.NewCmd(ctx, "incr", fmt.Sprint(key, i))
		if i == 7 {
			first = redis.NewCmd(ctx, "incr", key) // a list: the reply is an error
		}
		replies[i] = [2]*redis.Cmd{first, second}
		rest.Go(func() {
			if err := group.Do(ctx, first, second); err != nil {
				first.SetErr(err)
			}
		})
	}
	until(t, func() bool { return group.waits() == n })
	close(at.open)
	rest.Wait()
	sum := 0
	at.batches.Range(func(size, times any) bool {
		require.GreaterOrEqual(t, size.(int), 2)
		sum += size.(int) * int(times.(*atomic.Int64).Load())
		return true
	})
	require.Equal(t, 2*n, sum)
	for i, reply := range replies {
		if i == 7 {
			require.ErrorContains(t, reply[0].Err(), "WRONGTYPE", "an error is its own command's alone")
			require.Equal(t, int64(1), reply[1].Val())
			continue
		}
		require.Equal(t, []any{int64(1), int64(2)}, []any{reply[0].Val(), reply[1].Val()}, "in their order")
	}
	require.Zero(t, group.underWay)
	require.Zero(t, group.waits())
}

func TestOneThatComesAloneIsSentAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	group, key := New(server.Client(t)), redistest.Prefix()
	for i := range 3 {
		cmd := redis.NewCmd(t.Context(), "incr", key)
		require.NoError(t, group.Do(t.Context(), cmd))
		require.Equal(t, int64(i+1), cmd.Val())
	}
	require.Zero(t, group.underWay)
}

func TestCallWhoseContextEndsIsNotSentAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	group, at, key, rest := held(t)
	ctx, cancel := context.WithCancel(t.Context())
	gone := errors.New("not answered")
	left := make(chan error, 1)
	go func() { left <- group.Do(ctx, redis.NewCmd(ctx, "incr", key+"left")) }()
	until(t, func() bool { return group.waits() == 1 })
	stays := redis.NewCmd(t.Context(), "incr", key+"stays")
	rest.Go(func() { gone = group.Do(t.Context(), stays) })
	until(t, func() bool { return group.waits() == 2 })
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	require.Equal(t, 1, group.waits())
	close(at.open)
	rest.Wait()
	require.NoError(t, gone)
	require.Equal(t, int64(1), stays.Val())
	require.Zero(t, group.rdb.Exists(t.Context(), key+"left").Val(), "it was not sent")
	require.ErrorIs(t, group.Do(ctx, redis.NewCmd(ctx, "incr", key+"left")), context.Canceled)
	require.Zero(t, group.underWay)
}

// A caller that gives up while its command is under way takes nothing from the others.
func TestCallersThatGiveUpAtAnyMomentHoldUpNobody(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	group, key := New(server.Client(t)), redistest.Prefix()
	var all sync.WaitGroup
	var answered atomic.Int64
	for i := range 40 {
		all.Go(func() {
			for n := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+n)%3 == 0 {
					go cancel()
				}
				cmd := redis.NewCmd(ctx, "incr", key)
				if group.Do(ctx, cmd) == nil && cmd.Err() == nil {
					answered.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	require.Zero(t, group.underWay)
	require.Zero(t, group.waits())
	require.GreaterOrEqual(t, answered.Load(), int64(40*50*2/3))
	count, err := group.rdb.Get(t.Context(), key).Int64()
	require.NoError(t, err)
	require.GreaterOrEqual(t, count, answered.Load())
	require.LessOrEqual(t, count, int64(40*50), "nothing is sent twice")
}

func TestClusterHasNoGroup(t *testing.T) {
	t.Parallel()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"localhost:1"}})
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	require.Nil(t, New(cluster))
}
