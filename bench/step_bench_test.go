package bench

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

// The benchmarks of a step's path, which the guard compares between commits. An operation is a step; with -benchtime a
// multiple of 30x no execution is cut. BENCH_REDIS names the Redis to measure on: an empty one, which is emptied afterwards.
const redisEnv = "BENCH_REDIS"

// benchTurns are those of an execution of 30 steps.
const benchTurns = 5

func BenchmarkStepAlone(b *testing.B) {
	for _, nodes := range []int{1, 8} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			reportSteps(b, benchSteps(b, nodes, 1), "trips/step")
		})
	}
}

func BenchmarkStepUnderLoad(b *testing.B) {
	reportSteps(b, benchSteps(b, 1, 25), "loaded-trips/step") // how many travel together depends on the moment
}

func BenchmarkSubmit(b *testing.B) {
	ctx := context.Background()
	l, err := prepare(benchSpec(b, 1))
	require.NoError(b, err)
	defer func() { require.NoError(b, l.leave()) }()
	_, err = l.submit(ctx, toolAgent) // scripts and definition are there
	require.NoError(b, err)
	before := readSnap(&l.tally, l.meter)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		_, err := l.submit(ctx, toolAgent)
		require.NoError(b, err)
	}
	b.StopTimer()
	used := readSnap(&l.tally, l.meter).minus(before)
	var sum Count
	for _, name := range []string{"submit", "asynq task"} { // and not the wake-ups, one a millisecond at most
		sum.Trips += used.Labels[name].Trips
		sum.Bytes += used.Labels[name].Bytes
	}
	b.ReportMetric(float64(sum.Trips)/float64(b.N), "trips/submit")
	b.ReportMetric(float64(sum.Bytes)/float64(b.N), "redisB/submit")
}

func benchSpec(b *testing.B, nodes int) Spec {
	b.Helper()
	url := os.Getenv(redisEnv)
	if url == "" {
		url = redistest.Start(b).URL()
	}
	at, err := givenSite(b.Context(), url)
	require.NoError(b, err)
	b.Cleanup(func() {
		require.NoError(b, at.empty(context.Background()))
		at.close()
	})
	return Spec{
		Kind: pawl, URL: url, Concurrency: 50, NodesPerTask: nodes, Agent: toolAgent, Turns: benchTurns, ResultBytes: 1024,
		Detailed: true,
	}
}

// benchSteps runs executions, so many at once, until they have taken b.N steps or a few more.
func benchSteps(b *testing.B, nodes, atOnce int) Snap {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	b.Cleanup(cancel)
	l, err := startPawl(ctx, benchSpec(b, nodes))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, l.Close(context.Background())) })
	runExecutions(b, ctx, l, atOnce, atOnce) // scripts, connections and caches are there
	const steps = 5*benchTurns + 5
	before, err := l.Snap(ctx)
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	runExecutions(b, ctx, l, (b.N+steps-1)/steps, atOnce)
	b.StopTimer()
	after, err := l.Snap(ctx)
	require.NoError(b, err)
	return after.minus(before)
}

// runExecutions runs n executions to their end, at most so many at once.
func runExecutions(b *testing.B, ctx context.Context, l *pawlLoad, n, atOnce int) { //nolint:revive // as in tests
	b.Helper()
	var all sync.WaitGroup
	todo := make(chan struct{}, n)
	for range n {
		todo <- struct{}{}
	}
	close(todo)
	ended := &awaited{ends: map[execution.ID]chan struct{}{}}
	var collector sync.WaitGroup
	stop := make(chan struct{})
	collector.Go(func() { ended.collect(l.ends, stop) })
	for range min(n, atOnce) {
		all.Go(func() {
			for range todo {
				id, err := l.submit(ctx, toolAgent)
				if err != nil {
					b.Errorf("submit: %v", err)
					return
				}
				select {
				case <-ended.of(id):
				case <-ctx.Done():
					b.Errorf("execution %s did not end", id)
				}
			}
		})
	}
	all.Wait()
	close(stop)
	collector.Wait()
}

// awaited gives each execution a channel that is closed when it has ended.
type awaited struct {
	mu   sync.Mutex
	ends map[execution.ID]chan struct{} // guarded by mu
}

// collect takes ends until it is stopped.
func (a *awaited) collect(ends <-chan execution.ID, stop <-chan struct{}) {
	for {
		select {
		case id := <-ends:
			close(a.of(id))
		case <-stop:
			return
		}
	}
}

func (a *awaited) of(id execution.ID) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ends[id] == nil {
		a.ends[id] = make(chan struct{})
	}
	return a.ends[id]
}

// reportSteps reports what steps sent, without what happens by the clock.
func reportSteps(b *testing.B, used Snap, trips string) {
	b.Helper()
	var sum Count
	for _, name := range []string{
		"asynq dequeue", "claim", "record", "messages", "commit", "commit and enqueue", "enqueue", "asynq done",
	} {
		sum.Trips += used.Labels[name].Trips
		sum.Bytes += used.Labels[name].Bytes
	}
	b.ReportMetric(float64(sum.Trips)/float64(used.Steps), trips)
	b.ReportMetric(float64(sum.Bytes)/float64(used.Steps), "redisB/step")
}
