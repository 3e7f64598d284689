package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestARunnerGetsTheTaskAsItWasEnqueued(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	runner := newSeen(nil)
	s := w.start(t, runner)
	task := w.task(4)
	require.NoError(t, w.client(t).Enqueue(context.Background(), task))
	require.Equal(t, task, runner.next(t))
	require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, deadline, time.Millisecond, "nothing is left")
	require.Equal(t, int64(1), s.Stats().Done)
	require.NoError(t, w.client(t).Enqueue(context.Background(), task), "its id is free again")
	require.Equal(t, task, runner.next(t))
}

func TestAnErrorAndAPanicAreTriedAgain(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(context.Context, execution.Task) error{
		"an error": func(context.Context, execution.Task) error { return errors.New("no") },
		"a panic":  func(context.Context, execution.Task) error { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := sharedWorld(t)
			var tries atomic.Int64
			runner := newSeen(func(ctx context.Context, task execution.Task) error {
				if tries.Add(1) == 1 {
					return fail(ctx, task)
				}
				return nil
			})
			s := w.start(t, runner)
			require.NoError(t, w.client(t).Enqueue(context.Background(), w.task(0)))
			runner.next(t)
			runner.next(t)
			require.Eventually(t, func() bool { return s.Stats().Done == 1 }, deadline, time.Millisecond)
			require.Equal(t, int64(1), s.Stats().Failed)
		})
	}
}

func TestATaskNobodyCanReadIsDroppedAndOneOfAnotherProgramIsNot(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	s := w.start(t, newSeen(nil))
	raw := asynq.NewClientFromRedisClient(w.rdb)
	for i, data := range []string{"", "{", `{"executionId":"x","step":1}`, `{"executionId":7}`} {
		_, err := raw.Enqueue(asynq.NewTask(taskKind, []byte(data)), asynq.Queue(w.queue), asynq.TaskID(fmt.Sprint("bad", i)))
		require.NoError(t, err)
	}
	_, err := raw.Enqueue(asynq.NewTask("their:kind", nil), asynq.Queue(w.queue))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.Stats().Dropped == 4 && s.Stats().Foreign >= 1 }, deadline, time.Millisecond)
	require.Eventually(t, func() bool { d := w.depth(t); return d.Retry == 1 && d.Active == 0 }, deadline, time.Millisecond)
	require.Zero(t, w.depth(t).Archived)
}

func TestAPutBackKeepsTheTaskAndIsNoFailure(t *testing.T) {
	t.Parallel()
	for after, limits := range map[time.Duration][2]time.Duration{
		0:                     {0, 500 * time.Millisecond},
		40 * time.Millisecond: {40 * time.Millisecond, 500 * time.Millisecond},
		time.Second:           {time.Second, 5 * time.Second},
	} {
		t.Run("after "+after.String(), func(t *testing.T) {
			t.Parallel()
			w := sharedWorld(t)
			var tried sync.Map
			runner := newSeen(func(_ context.Context, task execution.Task) error {
				if _, again := tried.LoadOrStore(task.Step, true); !again {
					return &execution.PutBack{After: after, Err: errors.New("not now")}
				}
				return nil
			})
			s := w.start(t, runner)
			var took []time.Duration
			for i := range 3 {
				task := w.task(i)
				require.NoError(t, w.client(t).Enqueue(context.Background(), task))
				runner.next(t)
				begun := time.Now()
				require.Equal(t, task, runner.next(t))
				took = append(took, time.Since(begun))
			}
			require.Less(t, median(took), limits[1])
			require.GreaterOrEqual(t, took[0], limits[0]-5*time.Millisecond) // the shortest
			require.Eventually(t, func() bool { return s.Stats().Done == 3 }, deadline, time.Millisecond)
			require.Zero(t, s.Stats().Failed)
			require.Zero(t, w.rdb.Exists(context.Background(), queueKey(w.queue, "failed")).Val(), "Asynq counts no failure")
		})
	}
}

func TestAPutBackWhileStoppingGoesToAPeerAtOnce(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	draining := make(chan struct{})
	first := newSeen(func(context.Context, execution.Task) error {
		<-draining
		return &execution.PutBack{Err: errors.New("draining")}
	})
	a := w.start(t, first)
	task := w.task(0)
	require.NoError(t, w.client(t).Enqueue(context.Background(), task))
	first.next(t)
	a.Stop()
	second := newSeen(nil)
	b := w.startDreamer(t, w.rdb, second, func(cfg *ServerConfig) { cfg.Waker = nil })
	waitIdle(t, b)

	close(draining)
	require.Equal(t, task, second.next(t), "by a token, without a poll")
	a.Shutdown()
	require.Eventually(t, func() bool { return w.depth(t) == Depth{} }, deadline, time.Millisecond)
}

func TestCaseA7_AfterAShutdownNoTaskIsLeftActive(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ended := make(chan error, 1)
	stubborn := newSeen(func(ctx context.Context, _ execution.Task) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	})
	s := w.start(t, stubborn, func(cfg *ServerConfig) { cfg.DrainTimeout = 200 * time.Millisecond })
	require.NoError(t, w.client(t).Enqueue(context.Background(), w.task(0)))
	stubborn.next(t)
	s.Shutdown()
	require.ErrorIs(t, receive(t, ended), ErrStopped)
	require.Equal(t, Depth{Pending: 1}, w.depth(t), "a peer may run it")
	s.Shutdown()
	require.ErrorIs(t, s.Start(), ErrStopped)
}

func TestCaseA7_AnOperatorsCancelInAsynqmonDoesNotEndTheRunnersContext(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	release := make(chan struct{})
	ended := make(chan error, 2)
	runner := newSeen(func(ctx context.Context, _ execution.Task) error {
		<-release
		ended <- ctx.Err()
		return nil
	})
	w.start(t, runner, func(cfg *ServerConfig) { cfg.Concurrency = 1 })
	task := w.task(0)
	require.NoError(t, w.client(t).Enqueue(context.Background(), task))
	runner.next(t)
	require.NoError(t, asynq.NewInspectorFromRedisClient(w.rdb).CancelProcessing(task.ID()))
	require.Eventually(t, func() bool { return w.depth(t).Retry == 1 }, deadline, time.Millisecond)
	close(release)
	require.NoError(t, receive(t, ended))
	runner.next(t) // tried again; the journal refuses it
}

func TestRunnersNeverExceedTheSlotsAlthoughAsynqFreesItsOwn(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	release := make(chan struct{})
	runner := newSeen(func(context.Context, execution.Task) error { <-release; return nil })
	s := w.start(t, runner, func(cfg *ServerConfig) { cfg.Concurrency = 1 })
	first, second := w.task(0), w.task(1)
	c := w.client(t)
	require.NoError(t, c.Enqueue(context.Background(), first))
	runner.next(t)
	require.NoError(t, asynq.NewInspectorFromRedisClient(w.rdb).CancelProcessing(first.ID())) // Asynq's token is free
	require.Eventually(t, func() bool { return w.depth(t).Retry == 1 }, deadline, time.Millisecond)
	require.NoError(t, c.Enqueue(context.Background(), second))
	require.Eventually(t, func() bool { return s.Stats().PutBack > 0 }, deadline, time.Millisecond, "it found no slot")
	require.Equal(t, int64(1), s.Stats().Running)
	close(release)
	runner.next(t)
}

func TestSuspectTasksRunOneAtATime(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	var now, most atomic.Int64
	runner := newSeen(func(context.Context, execution.Task) error {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		<-time.After(2 * time.Millisecond) // work
		return nil
	})
	w.start(t, runner, func(cfg *ServerConfig) { cfg.NoSuspect = false })
	tasks := w.tasks(10)
	for i := range tasks {
		tasks[i].Queue = execution.SuspectQueue
	}
	require.NoError(t, w.client(t).Enqueue(context.Background(), tasks...))
	for range tasks {
		runner.next(t)
	}
	require.Equal(t, int64(1), most.Load())
}

func TestNewExecutionsNeverStarveUnderABacklogOfStartedOnes(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	fresh := w.queue + execution.NewSuffix
	ctx := context.Background()
	c := w.client(t)
	tasks := w.tasks(1000)
	for i := range tasks[:100] {
		tasks[i].Queue = fresh
	}
	require.NoError(t, c.Enqueue(ctx, tasks...))
	runner := newSeen(nil)
	w.start(t, runner, func(cfg *ServerConfig) {
		cfg.Queues, cfg.Concurrency = map[string]int{w.queue: 12, fresh: 3}, 1
	})
	freshSeen := 0
	for i := range tasks {
		if runner.next(t).Queue == fresh && i < 250 {
			freshSeen++
		}
	}
	require.GreaterOrEqual(t, freshSeen, 4, "new ones run beside the backlog")
	require.LessOrEqual(t, freshSeen, 6, "one in fifty: started ones go first")
}

func TestAServerStartsOnceAndStopsAnyNumberOfTimes(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	s := w.start(t, newSeen(nil))
	require.Error(t, s.Start())
	s.Stop()
	s.Stop()
	s.Shutdown()
	s.Shutdown()
	never, err := NewServer(w.rdb, newSeen(nil), w.config())
	require.NoError(t, err)
	never.Shutdown()
	require.ErrorIs(t, never.Start(), ErrStopped)
}

func TestStartAndStopUnderLoadLosesNoTask(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	c := w.client(t)
	runner := newSeen(nil)
	ran := map[string]bool{}
	sent := 0
	for range 15 {
		s, err := NewServer(w.rdb, runner, w.config())
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		require.NoError(t, c.Enqueue(context.Background(), w.tasks(20)...))
		sent += 20
		for range 10 {
			ran[runner.next(t).ID()] = true
		}
		cancel()
		require.NoError(t, receive(t, done))
		require.Zero(t, w.depth(t).Active)
	}
	w.start(t, runner)
	for len(ran) < sent {
		task := runner.next(t)
		require.False(t, ran[task.ID()], "run once")
		ran[task.ID()] = true
	}
}

func TestServerOnAClientWhoseRedisIsAwayStopsAtOnce(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialTimeout: 100 * time.Millisecond, DialerRetries: 1})
	t.Cleanup(func() { _ = rdb.Close() })
	w := newWorld(t, rdb)
	s := w.start(t, newSeen(nil))
	require.Eventually(t, func() bool { return s.Stats().LookErrors > 2 }, deadline, time.Millisecond)
	begun := time.Now()
	s.Shutdown()
	require.Less(t, time.Since(begun), 5*time.Second)
}

func TestALookGoesBackToAsynqBeforeItsLeaseIsTooOld(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	s, err := NewServer(w.rdb, newSeen(nil), w.config())
	require.NoError(t, err)
	view := s.lanes[0].view
	view.taker.fresh = 20 * time.Millisecond
	for queue := range view.waiter.queues { // as Asynq does in one look
		reply := make(chan error, 1)
		go func() {
			lease := time.Now().Add(leaseTTL).Unix()
			reply <- view.Eval(context.Background(), "return nil", lookKeys(queue), lease, taskKeyPrefix(queue)).Err()
		}()
		select {
		case err := <-reply:
			require.ErrorIs(t, err, redis.Nil)
		case <-time.After(deadline):
			require.Fail(t, "the look waits on")
		}
	}
}
