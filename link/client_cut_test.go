package link_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link/linktest"
)

// replicas are two API processes' worth of API on one Redis, and a store beside them.
func replicas(t *testing.T) (addresses []string, store *redisjournal.Store) {
	t.Helper()
	prefix := redistest.Prefix()
	open := func() *redisjournal.Store {
		store, err := redisjournal.New(redistest.Shared(t).Client(t), redisjournal.Config{Prefix: prefix, Logger: quiet()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	}
	for range 2 {
		api, err := httpapi.New(httpapi.Config{Link: service(t, open()), Heartbeat: 50 * time.Millisecond, Logger: quiet()})
		require.NoError(t, err)
		server := httptest.NewServer(api)
		t.Cleanup(server.Close)
		t.Cleanup(api.Drain)
		addresses = append(addresses, server.Listener.Addr().String())
	}
	return addresses, open()
}

// cutter forwards connections to the addresses in turn, and cuts each one after some bytes of its answers.
type cutter struct {
	listener  net.Listener
	addresses []string
	bytes     func() int64
	whole     atomic.Bool // cut no more
	cuts      atomic.Int64
	all       sync.WaitGroup
}

func newCutter(t *testing.T, addresses []string, bytes func() int64) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{listener: listener, addresses: addresses, bytes: bytes}
	c.all.Go(func() {
		for n := 0; ; n++ {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			c.all.Go(func() { c.forward(connection, addresses[n%len(addresses)]) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		c.all.Wait()
	})
	return c
}

func (c *cutter) forward(from net.Conn, address string) {
	defer func() { _ = from.Close() }() // it may be closed already
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }() // see above
	c.all.Go(func() {
		_, _ = io.Copy(to, from) // ends with the connection
		_ = to.Close()
	})
	if _, err := io.CopyN(from, to, c.bytes()); err == nil && !c.whole.Load() {
		c.cuts.Add(1)
		return
	}
	_, _ = io.Copy(from, to) // ends with the connection
}

func (c *cutter) client(t *testing.T) *client.Client {
	t.Helper()
	api, err := client.New("http://"+c.listener.Addr().String(), client.Config{
		MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, Heartbeat: 100 * time.Millisecond, Attempts: 1000,
	})
	require.NoError(t, err)
	t.Cleanup(api.Close)
	return api
}

// dense are the sequences from 1 to n.
func dense(n int) []execution.Sequence {
	sequences := make([]execution.Sequence, n)
	for i := range sequences {
		sequences[i] = execution.Sequence(i + 1)
	}
	return sequences
}

func TestCaseF3_AClientThatIsCutOffAnywhereGoesOnAtAnotherReplica(t *testing.T) {
	t.Parallel()
	addresses, store := replicas(t)
	cut := newCutter(t, addresses, func() int64 { return 150 + rand.Int64N(2000) })
	api := cut.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const executions, warnings = 4, 100
	ids := make([]execution.ID, executions)
	var all sync.WaitGroup
	got := make([][]execution.Sequence, executions)
	errs := make([]error, executions)
	for i := range ids {
		created, err := api.Create(ctx, "", linktest.Request("hello"))
		require.NoError(t, err)
		ids[i] = created.View.ID
		all.Go(func() {
			for event, err := range api.Stream(ctx, ids[i]) {
				if err != nil {
					errs[i] = err
					return
				}
				got[i] = append(got[i], event.Sequence)
			}
		})
		worker := linktest.Claim(t, store, ids[i])
		all.Go(func() {
			worker.Warnings(warnings)
			worker.Complete("done")
		})
	}
	all.Wait()
	for i := range ids {
		require.NoError(t, errs[i])
		require.Equal(t, dense(warnings+3), got[i]) // queued, started, the warnings, completed
	}
	require.Greater(t, cut.cuts.Load(), int64(executions*3), "it was cut off")
}

func TestAClientThatIsCutOffAnywhereSubmitsEachExecutionOnce(t *testing.T) {
	t.Parallel()
	addresses, store := replicas(t)
	// Half of the answers do not come whole: what they say has happened all the same.
	cut := newCutter(t, addresses, func() int64 { return rand.Int64N(2000) })
	api := cut.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const n = 30
	made := map[execution.ID]bool{}
	for i := range n {
		created, err := api.Create(ctx, "", linktest.Request(fmt.Sprint(i)))
		require.NoError(t, err)
		require.False(t, created.Replayed)
		made[created.View.ID] = true
	}
	require.Len(t, made, n)
	open, err := store.OpenExecutions(ctx)
	require.NoError(t, err)
	require.EqualValues(t, n, open)
	require.Greater(t, cut.cuts.Load(), int64(n/3), "it was cut off")
}

func TestAClientThatIsCutOffAnywhereFollowsEverything(t *testing.T) {
	t.Parallel()
	addresses, store := replicas(t)
	cut := newCutter(t, addresses, func() int64 { return 300 + rand.Int64N(20_000) })
	api := cut.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const executions, warnings = 8, 40
	got := map[execution.ID][]execution.Sequence{}
	following, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		left := executions
		for item, err := range api.WatchAll(ctx, time.Now().Add(-time.Hour)) {
			if err != nil {
				ended <- err
				return
			}
			if len(got) == 0 {
				close(following)
			}
			if item.Event == nil {
				continue
			}
			got[item.Execution] = append(got[item.Execution], item.Event.Sequence)
			if item.Event.Payload.EventType() == execution.TypeExecutionCompleted {
				left--
			}
			if left == 0 {
				ended <- nil
				return
			}
		}
		ended <- errors.New("it ended")
	}()
	var all sync.WaitGroup
	for range executions {
		created, err := api.Create(ctx, "", linktest.Request("hello"))
		require.NoError(t, err)
		<-following
		worker := linktest.Claim(t, store, created.View.ID)
		all.Go(func() {
			worker.Warnings(warnings)
			worker.Complete("done")
		})
	}
	all.Wait()
	require.NoError(t, <-ended)
	require.Len(t, got, executions)
	for id, sequences := range got {
		require.Equal(t, dense(warnings+3), sequences, id)
	}
	require.Greater(t, cut.cuts.Load(), int64(3), "it was cut off")
}
