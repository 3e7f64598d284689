package queue

import (
	"context"
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
		if cmd.Name() == "evalsha" {
			g.entered <- struct{}{}
			<-g.open
		}
		return next(ctx, cmd)
	}
}

func TestEnqueuesThatComeMeanwhileTravelTogether(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	trips := &counting{}
	w.rdb.AddHook(trips)
	c := w.client(t)
	require.NoError(t, c.Enqueue(context.Background(), w.task(0)), "the script is known from here on")
	trips.reset()
	const senders, each = 32, 50
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			for j := range each {
				if err := c.Enqueue(context.Background(), w.task(1+i*each+j)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(1+senders*each), w.depth(t).Pending)
	require.Less(t, trips.ofScripts(), senders*each*3/4)
}

// Whoever waits for a round trip of others gives up with its own context, and says so: the task may stand all the same.
func TestAnEnqueueThatWaitsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	runner := newSeen(nil)
	server := w.start(t, runner)
	rdb := redis.NewClient(w.rdb.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := NewClient(rdb, ClientConfig{Queues: []string{w.queue}, Prefix: w.prefix, Waker: w.waker, Logger: quiet()})
	require.NoError(t, err)
	require.NoError(t, c.Enqueue(context.Background(), w.task(0)), "the name of the queue is published with it")
	runner.next(t)
	waitIdle(t, server) // it has slots, so no wake-up goes with an enqueue
	hook := &gate{entered: make(chan struct{}, 10), open: make(chan struct{})}
	rdb.AddHook(hook)
	var all sync.WaitGroup
	const underWay = 2 // as many as may be under way at once
	for i := range underWay {
		all.Go(func() { _ = c.Enqueue(context.Background(), w.task(1+i)) })
		receive(t, hook.entered)
	}
	task := w.task(underWay + 1)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	all.Go(func() { ended <- c.Enqueue(ctx, task) })
	cancel()
	require.ErrorIs(t, receive(t, ended), context.Canceled)
	close(hook.open)
	all.Wait()
	require.NoError(t, c.Enqueue(context.Background(), task), "to try again is safe")
	for range underWay + 1 {
		runner.next(t)
	}
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
