package link_test

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// counted is a service whose Redis nobody else uses, and another store that plays the workers.
type counted struct {
	link   link.RuntimeLink
	worker *redisjournal.Store
	rdb    *redis.Client
}

func openCounted(t *testing.T, change ...func(*link.Config)) counted {
	t.Helper()
	server := redistest.Start(t)
	c := counted{rdb: server.Client(t)}
	stores := make([]*redisjournal.Store, 2)
	for i := range stores {
		var err error
		stores[i], err = redisjournal.New(server.Client(t), redisjournal.Config{Logger: quiet()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stores[i].Close()) })
	}
	c.worker = stores[1]
	c.link = service(t, stores[0], change...).As(execution.LocalAuthority())
	return c
}

var calls = regexp.MustCompile(`(?m)^cmdstat_([a-z]+(?:\|[a-z]+)?):calls=(\d+)`)

// commands counts what the server has carried out by the name of the command.
func (c counted) commands(t *testing.T) map[string]int {
	t.Helper()
	text, err := c.rdb.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	counts := map[string]int{}
	for _, match := range calls.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(match[2])
		require.NoError(t, err)
		counts[match[1]] = n
	}
	return counts
}

func (c counted) submit(t *testing.T) execution.ID {
	t.Helper()
	created, err := c.link.Create(t.Context(), "", linktest.Request("hello"))
	require.NoError(t, err)
	return created.View.ID
}

// toItsEnd reads a stream, and gives how many events it told.
func toItsEnd(ctx context.Context, stream execution.Stream) (int, error) {
	for events := 0; ; {
		item, err := stream.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return events, nil
		case err != nil:
			return events, err
		case item.Event != nil:
			events++
		}
	}
}

func TestHoweverManyStreamsAnEventIsReadOnce(t *testing.T) {
	t.Parallel()
	const streams, steps = 50, 100
	c := openCounted(t, func(cfg *link.Config) { cfg.Reread = time.Minute })
	id := c.submit(t)
	w := linktest.Claim(t, c.worker, id)
	told := make(chan int, streams)
	for range streams {
		stream, err := c.link.Follow(t.Context(), id, 0)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stream.Close()) })
		_, err = stream.Next(t.Context())
		require.NoError(t, err)
		go func() {
			n, _ := toItsEnd(t.Context(), stream)
			told <- n + 1
		}()
	}
	require.NoError(t, c.rdb.ConfigResetStat(t.Context()).Err())
	w.Warnings(steps)
	w.Complete("done")
	for range streams {
		require.Equal(t, len(linktest.Log(t, c.worker, id)), <-told)
	}
	scripts := c.commands(t)["evalsha"]
	writes := 2*steps + 1               // commits and claims
	reads := scripts - writes - streams // the test reads the log for each stream, too
	require.LessOrEqual(t, reads, steps+1)
	t.Logf("%d events for %d streams: %d reads of the log", steps+1, streams, reads)
}

func TestStreamsOnWhichNothingHappensCostNextToNothing(t *testing.T) {
	t.Parallel()
	const streams = 200
	c := openCounted(t, func(cfg *link.Config) { cfg.Reread = 20 * time.Millisecond })
	for range streams {
		stream, err := c.link.Follow(t.Context(), c.submit(t), 1)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stream.Close()) })
	}
	require.NoError(t, c.rdb.ConfigResetStat(t.Context()).Err())
	require.Eventually(t, func() bool { return c.commands(t)["llen"] >= 5*streams }, 30*time.Second, 5*time.Millisecond)
	require.Zero(t, c.commands(t)["evalsha"], "the lengths of the logs tell, asked for together")
}

func TestTheStreamOfWhatHasEndedSubscribesToNothing(t *testing.T) {
	t.Parallel()
	c := openCounted(t)
	id := c.submit(t)
	w := linktest.Claim(t, c.worker, id)
	w.Warnings(150)
	w.Complete("done")
	for after, want := range map[execution.Sequence]int{0: 153, 100: 53, 152: 1, 153: 0} {
		stream, err := c.link.Follow(t.Context(), id, after)
		require.NoError(t, err)
		n, err := toItsEnd(t.Context(), stream)
		require.NoError(t, err)
		require.Equal(t, want, n)
		require.NoError(t, stream.Close())
	}
	require.Zero(t, c.commands(t)["subscribe"])
}

// A hint may be lost: what was written is found when the lengths are looked at.
func TestAnEventWithoutAHintIsFound(t *testing.T) {
	t.Parallel()
	store := memory(t)
	l := service(t, deafStore{store}).As(execution.LocalAuthority())
	created, err := l.Create(t.Context(), "", linktest.Request("hello"))
	require.NoError(t, err)
	stream, err := l.Follow(t.Context(), created.View.ID, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stream.Close()) })
	linktest.Claim(t, store, created.View.ID).Complete("done")
	n, err := toItsEnd(t.Context(), stream)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// deafStore gives subscriptions to which nothing comes.
type deafStore struct{ journal.Store }

func (s deafStore) Follow(ctx context.Context, _ execution.ID) (journal.Subscription, error) {
	return s.Store.Follow(ctx, execution.NewID(1))
}

func TestAStreamOutlivesAnOutageOfTheStore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	store, err := redisjournal.New(server.Client(t), redisjournal.Config{Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	l := service(t, store).As(execution.LocalAuthority())
	created, err := l.Create(t.Context(), "", linktest.Request("hello"))
	require.NoError(t, err)
	stream, err := l.Follow(t.Context(), created.View.ID, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stream.Close()) })
	server.Kill()
	server.Restart(t)
	linktest.Claim(t, store, created.View.ID).Complete("done")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n, err := toItsEnd(ctx, stream)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestWhoeverFollowsAllIsToldThatMessagesWereLost(t *testing.T) {
	t.Parallel()
	c := openCounted(t)
	stream, err := c.link.FollowAll(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stream.Close()) })
	require.NoError(t, c.rdb.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = stream.Next(ctx)
	require.ErrorIs(t, err, execution.ErrOverloaded)
	again, err := c.link.FollowAll(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, again.Close()) })
	id := c.submit(t)
	item, err := again.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, id, item.Execution)
}

// One process reads nothing of executions that none of its streams may see, but whose they are, once.
func TestOfAnothersExecutionsNothingIsRead(t *testing.T) {
	t.Parallel()
	c := openCounted(t, func(cfg *link.Config) { cfg.Reread = time.Minute })
	l := c.link
	id := c.submit(t)
	stranger := service(t, c.worker).As(execution.Authority{
		Caller: execution.CallerScope{Tenant: "acme", Subject: "ann"}, Role: execution.ReadRole,
	})
	stream, err := stranger.FollowAll(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stream.Close()) })
	w := linktest.Claim(t, c.worker, id)
	require.NoError(t, c.rdb.ConfigResetStat(t.Context()).Err())
	w.Warnings(50)
	scripts := c.commands(t)["evalsha"]
	require.LessOrEqual(t, scripts, 2*50+1)
	_, err = l.Execution(t.Context(), id)
	require.NoError(t, err)
}
