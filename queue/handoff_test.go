package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// pollHalf is half of what half of the tasks need at least that no wake-up tells of: they come with the look of once a second.
const pollHalf = 250 * time.Millisecond

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// bestMedian measures until the median is below the bound, five times at most: what makes each hand-off slow is there each time,
// and what else the machine is busy with is not.
func bestMedian(bound time.Duration, measure func() []time.Duration) time.Duration {
	best := median(measure())
	for range 4 {
		if best < bound {
			break
		}
		best = min(best, median(measure()))
	}
	return best
}

// chain hands one task after the other to a server of this process, each enqueued by the run of the one before, and
// returns how long each took from the call of Enqueue to its run.
func chain(tb testing.TB, w *world, n int, queues map[string]int) []time.Duration {
	tb.Helper()
	c := w.client(tb)
	took := make(chan time.Duration, n)
	var sent time.Time // ordered by the task itself
	next := func(step int) error {
		sent = time.Now()
		return c.Enqueue(context.Background(), w.task(step))
	}
	s := w.start(tb, newSeen(func(_ context.Context, task execution.Task) error {
		took <- time.Since(sent)
		if int(task.Step)+1 < n {
			return next(int(task.Step) + 1)
		}
		return nil
	}), func(cfg *ServerConfig) { cfg.Queues = queues })
	waitIdle(tb, s)
	require.NoError(tb, next(0))
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = receive(tb, took)
	}
	s.Shutdown()
	return all
}

func sixQueues(w *world) map[string]int {
	queues := map[string]int{w.queue: 12}
	for i := range 5 {
		queues[fmt.Sprintf("%s-%d", w.queue, i)] = 3
	}
	return queues
}

// remote enqueues n tasks one by one for a worker process and returns how long each took to its run there.
func remote(tb testing.TB, w *world, n int) []time.Duration {
	tb.Helper()
	c := w.client(tb)
	all := make([]time.Duration, 0, n)
	tick := time.NewTicker(5 * time.Millisecond) // the worker has time to be idle
	defer tick.Stop()
	for i := range n {
		task := w.task(i)
		sent := time.Now()
		require.NoError(tb, c.Enqueue(context.Background(), task))
		id, at := arrival(tb, w)
		require.Equal(tb, task.ID(), id)
		all = append(all, at.Sub(sent))
		<-tick.C
	}
	return all
}

func TestHandOffInOneProcessIsFast(t *testing.T) { //nolint:paralleltest // it measures
	w := sharedWorld(t)
	const bound = 20 * time.Millisecond // far above what an idle machine shows, far below a poll
	got := bestMedian(bound, func() []time.Duration { return chain(t, w, 300, sixQueues(w)) })
	t.Logf("median hand-off in one process: %v", got)
	require.Less(t, got, bound)
}

func TestHandOffToAnotherProcessIsFast(t *testing.T) { //nolint:paralleltest // it measures
	w := sharedWorld(t)
	startChild(t, w)
	remote(t, w, 5)
	const bound = 8 * time.Millisecond // far above what an idle machine shows; a wake-up that is held back shows here
	got := bestMedian(bound, func() []time.Duration { return remote(t, w, 200) })
	t.Logf("median hand-off to another process: %v", got)
	require.Less(t, got, bound)
}

func TestABurstOfTasksWakesWorkersOfTwoProcesses(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	startChild(t, w)
	startChild(t, w)
	tasks := w.tasks(500)
	require.NoError(t, w.client(t).Enqueue(context.Background(), tasks...))
	want := map[string]bool{}
	for _, task := range tasks {
		want[task.ID()] = true
	}
	for range tasks {
		id, _ := arrival(t, w)
		require.True(t, want[id], "run once")
		delete(want, id)
	}
}

func TestAnIdleServerAsksLittle(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	s := w.start(t, newSeen(nil), func(cfg *ServerConfig) { cfg.Queues, cfg.NoSuspect = sixQueues(w), false })
	waitIdle(t, s)
	before := s.Stats().EmptyRounds
	<-time.After(5 * time.Second) // what is measured is the time
	rounds := s.Stats().EmptyRounds - before
	require.LessOrEqual(t, rounds, int64(8), "1.4 a second, both lanes together")
	require.GreaterOrEqual(t, rounds, int64(2), "it looks for itself")
}

func TestTokensLeftFromABusyTimeCostOneRoundOfLooks(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	runner := newSeen(nil)
	s := w.start(t, runner, func(cfg *ServerConfig) { cfg.Concurrency, cfg.Waker = 1, nil })
	tasks := w.tasks(300)
	require.NoError(t, w.client(t).Enqueue(context.Background(), tasks...))
	for range tasks {
		runner.next(t)
	}
	require.Eventually(t, func() bool { return w.rdb.LLen(context.Background(), tokenKey(w.prefix, w.queue)).Val() == 0 }, deadline, time.Millisecond)
	waitIdle(t, s)
	before := s.Stats().EmptyRounds
	<-time.After(time.Second) // what is measured is the time
	require.LessOrEqual(t, s.Stats().EmptyRounds-before, int64(3))
}

func TestATokenThatComesWhenNoSlotIsFreeIsHandedOn(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	release := make(chan struct{})
	busy := newSeen(func(context.Context, execution.Task) error { <-release; return nil })
	one := func(cfg *ServerConfig) { cfg.Concurrency, cfg.Waker = 1, nil }
	a := w.startDreamer(t, w.rdb, busy, one)
	b := w.startDreamer(t, w.rdb, busy, one)
	defer close(release)
	waitIdle(t, a)
	waitIdle(t, b)
	c := w.client(t)
	for i := range 2 {
		require.NoError(t, c.Enqueue(context.Background(), w.task(i)))
		busy.next(t)
	}
}

func TestAWakeUpBetweenTheLastLookAndTheWaitIsNotLost(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	c := w.client(t)
	hook := &enqueueAfterLook{do: make(chan func(), 1)}
	rdb := redis.NewClient(w.rdb.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(hook)
	runner := newSeen(nil)
	s := w.startDreamer(t, rdb, runner)
	for i := range 20 {
		waitIdle(t, s)
		hook.do <- func() { require.NoError(t, c.Enqueue(context.Background(), w.task(i*2+1))) }
		require.NoError(t, c.Enqueue(context.Background(), w.task(i*2)))
		runner.next(t)
		runner.next(t)
	}
}

// enqueueAfterLook calls its function after the next look and before its reply is seen.
type enqueueAfterLook struct {
	counting
	do chan func()
}

func (e *enqueueAfterLook) after(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if args := cmd.Args(); len(args) > 4 && strings.HasSuffix(fmt.Sprint(args[4]), "}:paused") {
			select {
			case do := <-e.do:
				do()
			default:
			}
		}
	}
}

func (e *enqueueAfterLook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		e.after(cmd)
		return err
	}
}

func (e *enqueueAfterLook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds) // the end of a task may ride along with the look
		e.after(cmds...)
		return err
	}
}

func TestStopReleasesTheWaitAtOnce(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	s := w.startDreamer(t, w.rdb, newSeen(nil))
	waitIdle(t, s)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.Stop()
		s.Shutdown()
	}()
	receive(t, stopped) // a wait that nobody releases takes an hour
}

func BenchmarkHandoffInProcess(b *testing.B) {
	w := sharedWorld(b)
	all := chain(b, w, max(b.N, 10), sixQueues(w))
	b.ReportMetric(float64(median(all).Microseconds()), "median-µs")
}

func BenchmarkHandoffCrossProcess(b *testing.B) {
	w := sharedWorld(b)
	startChild(b, w)
	all := remote(b, w, max(b.N, 10))
	b.ReportMetric(float64(median(all).Microseconds()), "median-µs")
}

func BenchmarkIdle(b *testing.B) {
	w := sharedWorld(b)
	s := w.start(b, newSeen(nil))
	waitIdle(b, s)
	before, begun := s.Stats().EmptyRounds, time.Now()
	for b.Loop() {
		<-time.After(time.Second) // what is measured is the time
	}
	b.ReportMetric(float64(s.Stats().EmptyRounds-before)/time.Since(begun).Seconds(), "rounds/s")
}
