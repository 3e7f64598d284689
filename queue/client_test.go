package queue

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

func TestEnqueueIsOneRoundTripWithItsWakeUp(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	c := w.client(t)
	ctx := context.Background()
	require.NoError(t, c.Enqueue(ctx, w.task(0))) // also publishes the name and loads the script
	<-time.After(2 * longestGap)                  // the next wake-up is due at once
	trips := &counting{}
	w.rdb.AddHook(trips)

	require.NoError(t, c.Enqueue(ctx, w.task(1)))
	n, names := trips.reset()
	require.Equal(t, 1, n)
	require.Equal(t, []string{"evalsha", "lpush", "ltrim", "pexpire"}, names)

	require.NoError(t, c.Enqueue(ctx, w.tasks(250)...))
	require.Equal(t, 3, trips.ofScripts(), "pipelined by 100")
	require.Equal(t, int64(252), w.depth(t).Pending)
}

func TestCaseB12_TheSameTaskAgainIsNoSecondTask(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	c := w.client(t)
	task := w.task(3)
	for range 20 {
		require.NoError(t, c.Enqueue(context.Background(), task, task))
	}
	require.Equal(t, int64(1), w.depth(t).Pending)
}

func TestCaseB12_ALostReplyToAnEnqueueIsSuccessAndOneTask(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	var lose atomic.Bool
	flaky := redis.NewClient(&redis.Options{
		Addr: redistest.Shared(t).Addr(),
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, addr)
			return &losing{Conn: conn, lose: &lose}, err
		},
	})
	t.Cleanup(func() { _ = flaky.Close() })
	c, err := NewClient(flaky, ClientConfig{Queues: []string{w.queue}, Prefix: w.prefix, Logger: quiet()})
	require.NoError(t, err)
	require.NoError(t, c.Enqueue(context.Background(), w.task(0)))
	lose.Store(true)
	require.NoError(t, c.Enqueue(context.Background(), w.task(1)))
	require.False(t, lose.Load(), "a reply was lost")
	require.Equal(t, int64(2), w.depth(t).Pending)
}

// losing drops the reply to the first script that is sent while lose is set.
type losing struct {
	net.Conn
	lose *atomic.Bool
	drop atomic.Bool
}

func (l *losing) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("evalsha")) && l.lose.CompareAndSwap(true, false) {
		l.drop.Store(true)
	}
	return l.Conn.Write(b)
}

func (l *losing) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if l.drop.Load() {
		return 0, io.EOF
	}
	return n, err
}

func TestEnqueueSurvivesAFlushOfTheScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Start(t).Client(t))
	c := w.client(t)
	ctx := context.Background()
	require.NoError(t, c.Enqueue(ctx, w.tasks(3)...))
	require.NoError(t, w.rdb.ScriptFlush(ctx).Err())
	require.NoError(t, c.Enqueue(ctx, w.tasks(150)...))
	require.Equal(t, int64(153), w.depth(t).Pending)
}

func TestQueueNamesComeBackAfterALossOfData(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Start(t).Client(t))
	c := w.client(t)
	ctx := context.Background()
	require.NoError(t, c.Enqueue(ctx, w.task(0)))
	require.NoError(t, w.rdb.FlushAll(ctx).Err())
	c.mu.Lock()
	c.known[w.queue] = time.Now().Add(-publishInterval)
	c.mu.Unlock()
	require.NoError(t, c.Enqueue(ctx, w.task(1)))
	require.Equal(t, []string{w.queue}, w.rdb.SMembers(ctx, allQueuesKey).Val())

	require.NoError(t, w.rdb.FlushAll(ctx).Err())
	n, err := c.Repair(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{w.queue}, w.rdb.SMembers(ctx, allQueuesKey).Val())
}

func TestEnqueueRefusesWhatNobodyCouldRun(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	c := w.client(t)
	bad, odd := w.task(0), w.task(1)
	bad.Queue = "a{b}"
	odd.Execution = "exec_nonsense"
	err := c.Enqueue(context.Background(), bad, odd, w.task(2))
	require.ErrorIs(t, err, ErrQueueName)
	require.ErrorIs(t, err, execution.ErrMalformedID)
	require.Equal(t, int64(1), w.depth(t).Pending, "the good one is enqueued")
}

func TestEnqueueSaysWhenRedisIsAway(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialTimeout: 100 * time.Millisecond, DialerRetries: 1})
	t.Cleanup(func() { _ = rdb.Close() })
	w := newWorld(t, rdb)
	require.Error(t, w.client(t).Enqueue(context.Background(), w.task(0)))
	_, err := w.client(t).Standing(context.Background(), w.tasks(1), time.Second)
	require.Error(t, err)
	require.False(t, errors.Is(err, redis.Nil))
	_, err = w.client(t).Depth(context.Background())
	require.Error(t, err)
	_, err = w.client(t).Repair(context.Background())
	require.Error(t, err)
}

func TestTokensOfAQueueNobodyServesAreCappedAndExpire(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	key := tokenKey(w.prefix, w.queue)
	for range tokenCap { // senders of as many processes
		require.NoError(t, w.client(t).Enqueue(ctx, w.tasks(3)...))
	}
	require.Equal(t, int64(tokenCap), w.rdb.LLen(ctx, key).Val())
	ttl := w.rdb.PTTL(ctx, key).Val()
	require.Positive(t, ttl)
	require.LessOrEqual(t, ttl, tokenTTL)
}

func TestABusySenderSendsFewTokensAndTheLastTaskIsToldOf(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	c := w.client(t)
	key := tokenKey(w.prefix, w.queue)
	require.NoError(t, c.Enqueue(ctx, w.task(0)))
	require.Equal(t, int64(1), w.rdb.LLen(ctx, key).Val(), "the first one at once")
	begun := time.Now()
	for i := range 200 {
		require.NoError(t, c.Enqueue(ctx, w.task(i+1)))
	}
	most := 2*int64(time.Since(begun)/tokenGap) + 3 // what is owed and what comes just then may both be sent in a gap
	require.LessOrEqual(t, w.rdb.LLen(ctx, key).Val(), most)
	<-time.After(2 * longestGap) // the last gap is over: the list is only added to by what is owed
	require.NoError(t, w.rdb.Del(ctx, key).Err())
	require.NoError(t, c.Enqueue(ctx, w.task(1000)))
	require.NoError(t, w.rdb.Del(ctx, key).Err())
	require.NoError(t, c.Enqueue(ctx, w.task(1001)))
	require.Eventually(t, func() bool { return w.rdb.LLen(ctx, key).Val() >= 1 }, deadline, time.Millisecond)
}

// Nobody waits for what lies there: a worker that has time again finds it. Whoever takes it hears of the next one as soon as
// ever.
func TestWakeUpsThatNobodyTakesComeLessOften(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	tokens := newTokens(w.rdb, nil, w.prefix, quiet())
	gap := func() time.Duration {
		tokens.mu.Lock()
		defer tokens.mu.Unlock()
		return tokenGap << tokens.lain[w.queue]
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 8} {
		tokens.alone(w.queue)
		require.Equal(t, want*tokenGap, gap())
	}
	require.NoError(t, w.rdb.Del(ctx, tokenKey(w.prefix, w.queue)).Err())
	tokens.alone(w.queue)
	require.Equal(t, tokenGap, gap())

	pipe := w.rdb.Pipeline()
	<-time.After(2 * tokenGap)
	sent := tokens.push(ctx, pipe, w.queue, 2)
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	sent()
	require.Equal(t, 2*tokenGap, gap())
}

func TestConfigsNameTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	for field, cfg := range map[string]ClientConfig{
		"Queues":      {Queues: []string{"no/slash"}},
		"TaskTimeout": {TaskTimeout: 1500 * time.Millisecond},
	} {
		_, err := NewClient(w.rdb, cfg)
		require.ErrorContains(t, err, field)
	}
	for field, cfg := range map[string]ServerConfig{
		"weight":       {Queues: map[string]int{"a": 0}},
		"Queues":       {Queues: map[string]int{"a:b": 1}},
		"NoSuspect":    {Queues: map[string]int{execution.SuspectQueue: 1}},
		"nothing":      {Queues: map[string]int{}, NoSuspect: true},
		"Concurrency":  {Concurrency: -1},
		"DrainTimeout": {DrainTimeout: -1},
	} {
		_, err := NewServer(w.rdb, newSeen(nil), cfg)
		require.ErrorContains(t, err, field)
	}
}
