package redisjournal

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// pages follows a listing of the local caller's to its end.
func pages(ctx context.Context, t *testing.T, store *Store, l journal.Listing) []execution.ID {
	t.Helper()
	l.Caller = execution.LocalCaller()
	var ids []execution.ID
	for {
		page, err := store.List(ctx, l)
		require.NoError(t, err)
		for _, row := range page.Executions {
			ids = append(ids, row.ID)
		}
		if page.Next == nil {
			return ids
		}
		l.After = page.Next
	}
}

// counter counts pipelines of scripts and reads, and the commands in them; how connections begin is not counted.
type counter struct{ trips, commands int }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name == "evalsha" || name == "hmget" {
			c.trips, c.commands = c.trips+1, c.commands+len(cmds)
		}
		return next(ctx, cmds)
	}
}

// A page costs what it shows, however many executions are stored: a look at 64 indexes, and the rows.
func TestAPageCostsTheSameHoweverManyAreStored(t *testing.T) {
	t.Parallel()
	w := open(t)
	stored := 0
	store := func(n int) {
		for ; stored < n; stored++ {
			_, err := w.store.Reserve(w.ctx(), newExecution(execution.Partition(stored%execution.Partitions)))
			require.NoError(t, err)
			w.now = w.now.Add(time.Millisecond)
		}
	}
	cost := func(l journal.Listing) (c counter) {
		l.Caller = execution.LocalCaller()
		_, err := w.store.List(w.ctx(), l) // the scripts are loaded
		require.NoError(t, err)
		client := redis.NewClient(w.rdb.Options())
		defer func() { require.NoError(t, client.Close()) }()
		require.NoError(t, client.Ping(w.ctx()).Err())
		client.AddHook(&c)
		counted, err := New(client, w.cfg)
		require.NoError(t, err)
		defer func() { require.NoError(t, counted.Close()) }()
		page, err := counted.List(w.ctx(), l)
		require.NoError(t, err)
		require.Len(t, page.Executions, l.Limit)
		return c
	}
	want := counter{trips: 2, commands: execution.Partitions + 20}
	store(200)
	require.Equal(t, want, cost(journal.Listing{Limit: 20}))
	require.Equal(t, want, cost(journal.Listing{Limit: 20, State: execution.Queued}))
	store(2000)
	require.Equal(t, want, cost(journal.Listing{Limit: 20}))
	deep := &journal.ListMark{CreatedAtMs: w.now.UnixMilli() - 1000, ID: execution.NewID(30)}
	require.Equal(t, want, cost(journal.Listing{Limit: 20, After: deep}))
	want.commands, want.trips = execution.Partitions+250+20, 3 // 250 rows are looked at
	require.Equal(t, want, cost(journal.Listing{Limit: 20, Agent: "demo"}))
}

// A row with a large request or answer ends the page early.
func TestAPageOfLargeRowsEndsEarly(t *testing.T) {
	t.Parallel()
	w := open(t)
	for range 12 {
		n := newExecution(7)
		n.Request.Input.Text = strings.Repeat("x", 1<<20)
		_, err := w.store.Reserve(w.ctx(), n)
		require.NoError(t, err)
	}
	page, err := w.store.List(w.ctx(), journal.Listing{Caller: execution.LocalCaller(), Limit: 100})
	require.NoError(t, err)
	require.Len(t, page.Executions, 4)
	require.NotNil(t, page.Next)
	require.Len(t, pages(w.ctx(), t, w.store, journal.Listing{Limit: 100}), 12)
}

// What an index says of a row is a hint: a row that has gone, or moved on, is left out.
func TestAnIndexIsAHint(t *testing.T) {
	t.Parallel()
	w := open(t)
	gone, there := w.reserve(), w.reserve()
	require.NoError(t, w.rdb.Del(w.ctx(), w.store.keys.row(gone)).Err())
	foreign := newExecution(7)
	foreign.Caller.Tenant = "another"
	_, err := w.store.Reserve(w.ctx(), foreign)
	require.NoError(t, err)
	for _, state := range []execution.State{"", execution.Failed} {
		index := w.store.keys.tenant(7, execution.LocalCaller().Tenant, state)
		for _, id := range []execution.ID{there, foreign.ID} {
			require.NoError(t, w.rdb.ZAdd(w.ctx(), index, redis.Z{
				Score: float64(w.now.UnixMilli()), Member: string(id[tailAt:]),
			}).Err())
		}
	}
	require.Equal(t, []execution.ID{there}, pages(w.ctx(), t, w.store, journal.Listing{Limit: 10}))
	require.Empty(t, pages(w.ctx(), t, w.store, journal.Listing{Limit: 10, State: execution.Failed}))
}
