package queue

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// gate holds up commands that travel alone until it is opened.
type gate struct {
	counting
	entered, open chan struct{}
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		g.note(cmd.Name())
		select {
		case g.entered <- struct{}{}:
		default: // what a connection says of itself
		}
		<-g.open
		return next(ctx, cmd)
	}
}

func TestCommandsThatComeMeanwhileTravelTogether(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	rdb := redis.NewClient(w.rdb.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	hook := &gate{entered: make(chan struct{}, 1), open: make(chan struct{})}
	rdb.AddHook(hook)
	g := newGroup(rdb)
	key := w.prefix + ":group"

	var all sync.WaitGroup
	all.Go(func() { g.do(ctx, redis.NewCmd(ctx, "rpush", key, "alone")) })
	receive(t, hook.entered)
	const n = 20
	replies := make([]*redis.Cmd, n)
	for i := range replies {
		cmd := redis.NewCmd(ctx, "incr", fmt.Sprint(key, i))
		if i == 7 {
			cmd = redis.NewCmd(ctx, "incr", key) // a list: the reply is an error
		}
		replies[i] = cmd
		all.Go(func() { g.do(ctx, cmd) })
	}
	require.Eventually(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.waiting) == n
	}, deadline, time.Millisecond)
	close(hook.open)
	all.Wait()

	hook.mu.Lock()
	require.Equal(t, 1, count(hook.heads, "incr"), "one pipeline")
	require.Equal(t, n, count(hook.names, "incr"))
	hook.mu.Unlock()
	for i, reply := range replies {
		if i == 7 {
			require.ErrorContains(t, reply.Err(), "WRONGTYPE", "an error is its own command's alone")
			continue
		}
		require.NoError(t, reply.Err())
		require.Equal(t, int64(1), reply.Val())
	}
	require.False(t, g.busy)
}

func TestEnqueuesAndEndsOfManyGoroutinesAreEachAnswered(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	c := w.client(t)
	runner := newSeen(nil)
	s := w.start(t, runner)
	const senders, each = 20, 50
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			for j := range each {
				if j == each/2 {
					_ = w.rdb.ScriptFlush(ctx).Err() // the source must be sent again, in the middle of it all
				}
				if err := c.Enqueue(ctx, w.task(i*each+j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for range senders * each {
		runner.next(t)
	}
	require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, deadline, time.Millisecond)
	require.Equal(t, int64(senders*each), s.Stats().Done)
	require.Zero(t, s.Stats().Gone)
}

func TestTheContextOfOneDoesNotEndTheOthers(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	rdb := redis.NewClient(w.rdb.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	hook := &gate{entered: make(chan struct{}, 1), open: make(chan struct{})}
	rdb.AddHook(hook)
	g := newGroup(rdb)
	var all sync.WaitGroup
	all.Go(func() { g.do(context.Background(), redis.NewCmd(context.Background(), "ping")) })
	receive(t, hook.entered)
	over, end := context.WithCancel(context.Background())
	end()
	first, second := redis.NewCmd(over, "ping"), redis.NewCmd(context.Background(), "ping")
	for i, cmd := range []*redis.Cmd{first, second} {
		all.Go(func() { g.do(over, cmd) })
		require.Eventually(t, func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return len(g.waiting) == i+1
		}, deadline, time.Millisecond)
	}
	close(hook.open)
	all.Wait()
	require.NoError(t, first.Err())
	require.NoError(t, second.Err())
}
