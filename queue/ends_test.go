package queue

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/gather"
)

// patient makes ends wait for company as long as it takes, and shares a group with the caller.
func patient(t *testing.T, w *world) (group *gather.Group, change func(*ServerConfig)) {
	t.Helper()
	group = gather.New(w.rdb)
	return group, func(cfg *ServerConfig) { cfg.Gather, cfg.endPatience = group, time.Hour }
}

// awaitEnds waits until so many ends of the server wait for company.
func awaitEnds(t *testing.T, s *Server, n int) {
	t.Helper()
	e := s.lanes[0].view.ends
	require.Eventually(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.waiting) == n
	}, deadline, time.Millisecond)
}

func TestAnEndRidesAlongWithTheNextCall(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	group, change := patient(t, w)
	runner := newSeen(nil)
	s := w.start(t, runner, change)
	require.NoError(t, w.client(t).Enqueue(context.Background(), w.tasks(3)...))
	for range 3 {
		runner.next(t)
	}
	awaitEnds(t, s, 3)
	require.Equal(t, Depth{Active: 3}, w.depth(t))
	ping := redis.NewCmd(t.Context(), "ping")
	require.NoError(t, group.Do(t.Context(), ping))
	require.Equal(t, "PONG", ping.Val())
	require.Equal(t, Depth{}, w.depth(t), "they share a script, which was sent with its source")
	require.Zero(t, s.Stats().Gone)
}

func TestAnEndRidesAlongWithALook(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	_, change := patient(t, w)
	runner := newSeen(nil)
	s := w.start(t, runner, change)
	c := w.client(t)
	require.NoError(t, c.Enqueue(context.Background(), w.task(0)))
	runner.next(t)
	awaitEnds(t, s, 1)
	waitIdle(t, s)
	require.NoError(t, c.Enqueue(context.Background(), w.task(1)))
	runner.next(t)
	awaitEnds(t, s, 1)
	require.Equal(t, Depth{Active: 1}, w.depth(t), "that of the second one waits")
}

func TestAnEndGoesByItselfSoon(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	runner := newSeen(nil)
	w.start(t, runner)
	require.NoError(t, w.client(t).Enqueue(context.Background(), w.task(0)))
	runner.next(t)
	require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, deadline, time.Millisecond)
}

// Asynq looks only when it has a slot: an end that waited for its look would wait for ever.
func TestAnEndOnWhichTheLastSlotWaitsGoesAtOnce(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 3} {
		w := sharedWorld(t)
		_, change := patient(t, w)
		runner := newSeen(nil)
		s := w.start(t, runner, change, func(cfg *ServerConfig) { cfg.Concurrency = slots })
		require.NoError(t, w.client(t).Enqueue(context.Background(), w.tasks(40)...))
		for range 40 {
			runner.next(t)
		}
		require.Eventually(t, func() bool { return w.depth(t).Pending == 0 }, deadline, time.Millisecond)
		require.Less(t, w.depth(t).Active, int64(max(slots, 2)))
		require.Zero(t, s.Stats().Gone)
	}
}

func TestEndsThatWaitGoWhenTheServerStops(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	_, change := patient(t, w)
	release := make(chan struct{})
	runner := newSeen(func(context.Context, execution.Task) error { <-release; return nil })
	s := w.start(t, runner, change)
	require.NoError(t, w.client(t).Enqueue(context.Background(), w.tasks(2)...))
	for range 2 {
		runner.next(t)
	}
	release <- struct{}{}
	awaitEnds(t, s, 1)
	s.Stop()
	close(release)
	s.Shutdown()
	require.Equal(t, Depth{}, w.depth(t))
}
