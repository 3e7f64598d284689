package queue

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(runChild())
	}
	redistest.Main(m, func() error { return goleak.Find() })
}

const deadline = time.Minute

// quiet drops log lines.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// world is a server, a client and a queue of their own on a Redis.
type world struct {
	rdb    *redis.Client
	prefix string
	queue  string
	waker  *Waker
}

func newWorld(tb testing.TB, rdb *redis.Client) *world {
	tb.Helper()
	prefix := redistest.Prefix()
	return &world{rdb: rdb, prefix: prefix, queue: prefix, waker: &Waker{}}
}

func sharedWorld(tb testing.TB) *world {
	tb.Helper()
	return newWorld(tb, redistest.Shared(tb).Client(tb))
}

func (w *world) client(tb testing.TB) *Client {
	tb.Helper()
	c, err := NewClient(w.rdb, ClientConfig{Queues: []string{w.queue}, Prefix: w.prefix, Waker: w.waker, Logger: quiet()})
	require.NoError(tb, err)
	return c
}

func (w *world) config() ServerConfig {
	return ServerConfig{
		Queues: map[string]int{w.queue: 1}, NoSuspect: true, Concurrency: 8, DrainTimeout: 2 * time.Second,
		Prefix: w.prefix, Waker: w.waker, Logger: quiet(),
	}
}

func (w *world) start(tb testing.TB, runner Runner, change ...func(*ServerConfig)) *Server {
	tb.Helper()
	cfg := w.config()
	for _, f := range change {
		f(&cfg)
	}
	return startServer(tb, w.rdb, runner, cfg)
}

func startServer(tb testing.TB, rdb redis.UniversalClient, runner Runner, cfg ServerConfig) *Server {
	tb.Helper()
	s, err := NewServer(rdb, runner, cfg)
	require.NoError(tb, err)
	require.NoError(tb, s.Start())
	tb.Cleanup(s.Shutdown)
	return s
}

// startDreamer starts a server that does not look for itself: what it takes it was woken for.
func (w *world) startDreamer(tb testing.TB, rdb redis.UniversalClient, runner Runner, change ...func(*ServerConfig)) *Server {
	tb.Helper()
	cfg := w.config()
	for _, f := range change {
		f(&cfg)
	}
	s, err := NewServer(rdb, runner, cfg)
	require.NoError(tb, err)
	for _, l := range s.lanes {
		l.taker.patience = time.Hour
	}
	require.NoError(tb, s.Start())
	tb.Cleanup(s.Shutdown)
	return s
}

// waitIdle returns when the first lane of s waits for a wake-up.
func waitIdle(tb testing.TB, s *Server) {
	tb.Helper()
	require.Eventually(tb, s.lanes[0].waiter.isWaiting, deadline, time.Millisecond)
}

func (w *world) task(step int) execution.Task {
	return execution.Task{Execution: execution.NewID(7), Step: execution.Step(step), Wake: 1, Queue: w.queue}
}

func (w *world) tasks(n int) []execution.Task {
	tasks := make([]execution.Task, n)
	for i := range tasks {
		tasks[i] = w.task(i)
	}
	return tasks
}

func (w *world) depth(tb testing.TB) Depth {
	tb.Helper()
	depths, err := w.client(tb).Depth(context.Background())
	require.NoError(tb, err)
	return depths[w.queue]
}

// seen is a runner that sends what it is given.
type seen struct {
	ch   chan execution.Task
	with func(context.Context, execution.Task) error
}

func newSeen(with func(context.Context, execution.Task) error) *seen {
	return &seen{ch: make(chan execution.Task, 10_000), with: with}
}

func (s *seen) Run(ctx context.Context, task execution.Task) error {
	s.ch <- task
	if s.with == nil {
		return nil
	}
	return s.with(ctx, task)
}

func (s *seen) next(tb testing.TB) execution.Task {
	tb.Helper()
	return receive(tb, s.ch)
}

func receive[T any](tb testing.TB, ch <-chan T) T {
	tb.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(deadline):
		require.FailNow(tb, "nothing came in time")
		panic("unreachable")
	}
}

// counting counts the round trips of a client.
type counting struct {
	mu    sync.Mutex
	trips int
	names []string
	heads []string // the first command of each round trip
}

func (c *counting) note(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trips++
	c.names = append(c.names, names...)
	c.heads = append(c.heads, names[0])
}

// longestGap is between the wake-ups of a sender to whom nobody listens.
const longestGap = tokenGap << tokenRises

// ofScripts is how many round trips began with a script: others are wake-ups that were owed.
func (c *counting) ofScripts() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, head := range c.heads {
		if head == "evalsha" || head == "eval" {
			n++
		}
	}
	return n
}

func (c *counting) reset() (trips int, names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	trips, names = c.trips, c.names
	c.trips, c.names, c.heads = 0, nil, nil
	return trips, names
}

func (c *counting) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.note(cmd.Name())
		return next(ctx, cmd)
	}
}

func (c *counting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		names := make([]string, len(cmds))
		for i, cmd := range cmds {
			names[i] = cmd.Name()
		}
		c.note(names...)
		return next(ctx, cmds)
	}
}
