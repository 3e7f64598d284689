package streams

import (
	"context"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// load is how much one API process gets.
type load struct {
	clients int           // each with an execution of its own
	few     int           // to compare with
	rate    int           // events a second, in all
	length  time.Duration // of each measurement
	bound   time.Duration // from commit to client, for 99 of 100 events
	memory  int64         // of the process, in bytes
}

func wanted() load {
	if full() {
		return load{clients: 5000, few: 50, rate: 500, length: 30 * time.Second, bound: 100 * time.Millisecond, memory: 1 << 30}
	}
	return load{clients: 300, few: 50, rate: 200, length: 3 * time.Second, bound: time.Second, memory: 512 << 20}
}

// writers is how many goroutines commit; an execution belongs to one of them.
const writers = 16

// Cases F2 and F3: one API process carries every client; each is cut off once, at any moment, comes back to another
// replica, and has read the journal's list in the end.
func TestManyStreamsAreFastAndWhole(t *testing.T) { //nolint:paralleltest // what it measures another test would disturb
	w, load := newWorld(t), wanted()
	first, second := w.API(), w.API()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	few := w.open(ctx, load.few, first, second)
	compared := few.measure(ctx, load)
	few.end(ctx)

	many := w.open(ctx, load.clients, first, second)
	measured := many.measure(ctx, load)
	t.Logf("p50/p99/max from commit to client, %d events/s: %d clients %v/%v/%v, %d clients %v/%v/%v", load.rate,
		load.few, compared.p50, compared.p99, compared.max, load.clients, measured.p50, measured.p99, measured.max)
	resident, most := memory(first.Process, "VmRSS"), memory(first.Process, "VmHWM")
	t.Logf("memory of the API process with %d streams: %d MiB, at most %d MiB", load.clients, resident>>20, most>>20)
	require.Less(t, measured.p99, max(load.bound, 3*compared.p99))
	require.Less(t, most, load.memory)

	many.cutEach(ctx, load)
	many.end(ctx)
	cuts := 0
	for _, c := range many.clients {
		cuts += c.cuts
	}
	require.GreaterOrEqual(t, cuts, load.clients)
	t.Logf("%d clients, cut off %d times, have read the journal's list", load.clients, cuts)
}

// crowd is some executions with a client each.
type crowd struct {
	world   *world
	runs    [writers][]*run
	clients []*client
	group   errgroup.Group

	watched atomic.Bool
	written atomic.Int64 // events, while watched
	mu      sync.Mutex
	late    []time.Duration // of each event that came while watched
}

func (c *crowd) saw(late time.Duration) {
	if c.watched.Load() {
		c.mu.Lock()
		c.late = append(c.late, late)
		c.mu.Unlock()
	}
}

// open submits n executions and connects a client of each to the first API.
func (w *world) open(ctx context.Context, n int, apis ...*harness.API) *crowd {
	w.t.Helper()
	var hosts []string
	for _, api := range apis {
		address, err := url.Parse(api.URL)
		require.NoError(w.t, err)
		hosts = append(hosts, address.Host)
	}
	c := &crowd{world: w}
	var group errgroup.Group
	for i := range writers {
		group.Go(func() error {
			for range n/writers + min(1, max(0, n%writers-i)) {
				one, err := w.start(ctx)
				if err != nil {
					return err
				}
				c.runs[i] = append(c.runs[i], one)
			}
			return nil
		})
	}
	require.NoError(w.t, group.Wait())
	connecting := make(chan struct{}, 64) // at a time: this is no test of a rush
	for _, runs := range c.runs {
		for _, one := range runs {
			cl := &client{id: one.id, hosts: slices.Clone(hosts), open: make(chan struct{}), saw: c.saw}
			c.clients = append(c.clients, cl)
			connecting <- struct{}{}
			c.group.Go(func() error { return cl.run(ctx) })
			go func() { <-cl.open; <-connecting }()
		}
	}
	for range cap(connecting) {
		connecting <- struct{}{}
	}
	return c
}

// write commits events at a rate until the time is over. What is late is made up for.
func (c *crowd) write(ctx context.Context, rate int, length time.Duration) error {
	var group errgroup.Group
	begin := time.Now()
	for i := range writers {
		group.Go(func() error {
			runs := c.runs[i]
			every := time.Second * writers / time.Duration(rate)
			at := begin.Add(every * time.Duration(i) / writers)
			for n := 0; at.Before(begin.Add(length)); n, at = n+1, at.Add(every) {
				timer := time.NewTimer(time.Until(at))
				select {
				case <-timer.C:
				case <-ctx.Done():
					return ctx.Err()
				}
				if err := c.world.commit(ctx, runs[n%len(runs)], false); err != nil {
					return err
				}
				if c.watched.Load() {
					c.written.Add(1)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// latency is how late events came.
type latency struct{ p50, p99, max time.Duration }

func (c *crowd) measure(ctx context.Context, load load) latency {
	t := c.world.t
	t.Helper()
	require.NoError(t, c.write(ctx, load.rate, load.length/10)) // to warm up
	c.watched.Store(true)
	require.NoError(t, c.write(ctx, load.rate, load.length))
	harness.Eventually(t, 30*time.Second, "every event has come", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return int64(len(c.late)) >= c.written.Load()
	})
	c.watched.Store(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.late
	slices.Sort(all)
	require.NotEmpty(t, all)
	return latency{all[len(all)/2], all[len(all)*99/100], all[len(all)-1]}
}

// cutEach cuts every client off once, at a random moment, while events are written.
func (c *crowd) cutEach(ctx context.Context, load load) {
	t := c.world.t
	t.Helper()
	var group errgroup.Group
	for _, cl := range c.clients {
		time.AfterFunc(rand.N(load.length), cl.cut)
	}
	group.Go(func() error { return c.write(ctx, load.rate, load.length+time.Second) })
	require.NoError(t, group.Wait())
}

// end ends every execution, and holds what each client has read against the journal.
func (c *crowd) end(ctx context.Context) {
	t := c.world.t
	t.Helper()
	var group errgroup.Group
	for _, runs := range c.runs {
		group.Go(func() error {
			for _, one := range runs {
				if err := c.world.commit(ctx, one, true); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.NoError(t, c.group.Wait())
	for _, cl := range c.clients {
		events, err := c.world.store.Events(ctx, cl.id, 0, 10_000)
		require.NoError(t, err)
		want := make([]execution.Sequence, len(events))
		for i, event := range events {
			want[i] = event.Sequence
		}
		require.Equal(t, want, cl.sequences, "%s", cl.id)
	}
}
