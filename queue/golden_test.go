package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// recording notes the keys of every script.
type recording struct {
	redis.UniversalClient
	mu   sync.Mutex
	seen map[string]script
}

func (r *recording) note(keys []string, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	shape := strings.ReplaceAll(strings.Join(keys, " "), id, "ID")
	r.seen[strings.ReplaceAll(shape, time.Now().UTC().Format(time.DateOnly), "DATE")] = scriptOf(keys)
}

func (r *recording) shapes() map[string]script {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.seen)
}

type goldenView struct {
	*recording
	id, queue string
}

func (g goldenView) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if len(keys) > 0 && queueOf(keys[0]) == g.queue {
		g.note(keys, g.id)
	}
	return g.recording.EvalSha(ctx, sha, keys, args...)
}

// The scripts of the pinned Asynq, by their keys. A change here means that Asynq has changed and that this package's
// view of its scripts must be read again.
func TestGoldenKeysOfAsynqsScripts(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	got := lifeOfATask(t, w)
	k := func(tails ...string) string {
		keys := make([]string, len(tails))
		for i, tail := range tails {
			keys[i] = queueKey(w.queue, tail)
		}
		return strings.Join(keys, " ")
	}
	want := map[string]script{
		k("t:ID", "pending"):                      enqueueScript,
		k("pending", "paused", "active", "lease"): lookScript,
		k("scheduled", "pending"):                 forwardScript,
		k("retry", "pending"):                     forwardScript,
		k("active", "lease", "pending", "t:ID"):   endScript,
		k("lease"):                                otherScript,
		k("t:ID", "active", "lease", "retry", "processed:DATE", "failed:DATE", "processed", "failed"):          retryScript,
		k("active", "lease", "t:ID", "processed:DATE", "processed"):                                            endScript,
		k("t:ID", "active", "lease", "archived", "processed:DATE", "failed:DATE", "processed", "failed", "t:"): endScript,
	}
	delete(got, k("aggregation_sets")) // of groups, which are not used
	delete(got, k("completed"))        // of the janitor, whose first turn may come late
	require.Equal(t, want, got, "%v", slices.Sorted(maps.Keys(got)))
}

// lifeOfATask sends one task through Asynq alone until it was retried, done, archived and requeued, and returns the
// shapes of all scripts.
func lifeOfATask(t *testing.T, w *world) map[string]script {
	t.Helper()
	task := w.task(1)
	view := goldenView{&recording{UniversalClient: w.rdb, seen: map[string]script{}}, task.ID(), w.queue}
	client := asynq.NewClientFromRedisClient(view)
	add := func() {
		_, err := client.Enqueue(asynq.NewTask(taskKind, nil), asynq.TaskID(task.ID()), asynq.Queue(w.queue), asynq.MaxRetry(3))
		require.NoError(t, err)
	}
	server := asynq.NewServerFromRedisClient(view, asynq.Config{
		Queues: map[string]int{w.queue: 1}, TaskCheckInterval: 10 * time.Millisecond, ShutdownTimeout: 50 * time.Millisecond,
		DelayedTaskCheckInterval: 100 * time.Millisecond, Logger: asynqLog{quiet()},
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return 0 },
	})
	ran := make(chan int, 10)
	require.NoError(t, server.Start(fourEnds(ran)))
	ctx := context.Background()
	add()
	receive(t, ran)
	receive(t, ran)
	gone := func() bool { return w.rdb.Exists(ctx, taskKey(w.queue, task.ID())).Val() == 0 }
	require.Eventually(t, gone, deadline, time.Millisecond)
	add()
	receive(t, ran)
	require.Eventually(t, func() bool { return w.depth(t).Archived == 1 }, deadline, time.Millisecond)
	require.NoError(t, w.rdb.Del(ctx, taskKey(w.queue, task.ID()), archivedKey(w.queue)).Err())
	add()
	receive(t, ran)
	server.Shutdown()
	require.Equal(t, int64(1), w.depth(t).Pending, "requeued")
	return view.shapes()
}

// fourEnds ends its first four runs in the four ways Asynq knows.
func fourEnds(ran chan<- int) asynq.Handler {
	tries := 0
	return asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		tries++
		ran <- tries
		switch tries {
		case 1:
			return errors.New("again")
		case 2:
			return nil
		case 3:
			return asynq.SkipRetry
		default:
			<-ctx.Done() // till Asynq gives up and requeues
			return nil
		}
	})
}

func TestGoldenHashOfATask(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	ctx := context.Background()
	task := execution.Task{Execution: "exec_0701ARZ3NDEKTSV4RRFFQ69G5FAV", Step: 18_446_744_073_709_551_615, Wake: 18_446_744_073_709_551_615, Queue: w.queue}
	require.NoError(t, w.client(t).Enqueue(ctx, task))
	id := "exec_0701ARZ3NDEKTSV4RRFFQ69G5FAV.18446744073709551615.18446744073709551615"
	hash := w.rdb.HGetAll(ctx, "asynq:{"+w.queue+"}:t:"+id).Val()
	require.ElementsMatch(t, []string{"msg", "state", "pending_since"}, slices.Collect(maps.Keys(hash)))
	require.Equal(t, "pending", hash["state"])
	require.Equal(t, []string{id}, w.rdb.LRange(ctx, "asynq:{"+w.queue+"}:pending", 0, -1).Val())

	info, err := asynq.NewInspectorFromRedisClient(w.rdb).GetTaskInfo(w.queue, id)
	require.NoError(t, err)
	require.Equal(t, `{"executionId":"exec_0701ARZ3NDEKTSV4RRFFQ69G5FAV","step":18446744073709551615,"wake":18446744073709551615}`, string(info.Payload))
	require.Less(t, len(info.Payload), maxPayload)
	require.Equal(t, taskKind, info.Type)
	require.Equal(t, maxRetry, info.MaxRetry)
	require.Equal(t, 24*time.Hour, info.Timeout)
	require.Zero(t, info.Retention)
	require.Empty(t, info.Group)

	back, err := decodePayload(w.queue, info.Payload)
	require.NoError(t, err)
	require.Equal(t, task, back)
}

func TestScriptsSayWhatTheyTakeAndReturn(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"take": takeSource, "done": doneSource, "put_back": putBackSource, "repair_active": repairActiveSource, "repair_lease": repairLeaseSource, "repair_dead": repairDeadSource,
	} {
		for _, part := range []string{"Purpose:", "KEYS:", "ARGV:", "Returns:", "Refuses:", "Invariant:"} {
			require.Contains(t, source, "-- "+part, fmt.Sprintf("%s.lua", name))
		}
	}
}

// Our script takes a task as the pinned Asynq's own takes one: the same state of Redis afterwards.
func TestGoldenTakeLeavesWhatAsynqsDequeueLeaves(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	left := map[string]map[string]any{}
	for name, take := range map[string]func(*testing.T, *world){"asynq": takeByAsynq, "pawl": takeByPawl} {
		one := newWorld(t, w.rdb)
		task := one.task(1)
		task.Execution = "exec_0701ARZ3NDEKTSV4RRFFQ69G5FAV"
		require.NoError(t, one.client(t).Enqueue(context.Background(), task))
		take(t, one)
		left[name] = stateOf(t, one, task.ID())
	}
	require.Equal(t, left["asynq"], left["pawl"])
	require.Equal(t, "active", left["pawl"]["hash"].(map[string]string)["state"])
}

func takeByPawl(t *testing.T, w *world) {
	t.Helper()
	require.Len(t, fetched(t, w).kept, 1)
}

func takeByAsynq(t *testing.T, w *world) {
	t.Helper()
	server := asynq.NewServerFromRedisClient(w.rdb, asynq.Config{
		Queues: map[string]int{w.queue: 1}, TaskCheckInterval: time.Millisecond, ShutdownTimeout: time.Minute, Logger: asynqLog{quiet()},
	})
	ran, release := make(chan struct{}), make(chan struct{})
	require.NoError(t, server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		close(ran)
		<-release
		return nil
	})))
	t.Cleanup(func() { close(release); server.Shutdown() })
	receive(t, ran)
}

// stateOf is what Redis holds of a queue with one task, without names and times that differ.
func stateOf(t *testing.T, w *world, id string) map[string]any {
	t.Helper()
	ctx := context.Background()
	hash := w.rdb.HGetAll(ctx, taskKey(w.queue, id)).Val()
	hash["msg"] = strings.ReplaceAll(hash["msg"], w.queue, "QUEUE")
	lease := w.rdb.ZScore(ctx, leaseKey(w.queue), id).Val()
	keys := w.rdb.Keys(ctx, "asynq:{"+w.queue+"}:*").Val()
	for i := range keys {
		keys[i] = strings.ReplaceAll(keys[i], w.queue, "QUEUE")
	}
	slices.Sort(keys)
	return map[string]any{
		"hash": hash, "keys": keys, "active": w.rdb.LRange(ctx, activeKey(w.queue), 0, -1).Val(),
		"pending": w.rdb.LLen(ctx, pendingKey(w.queue)).Val(), "lease is 30 s": lease > float64(time.Now().Add(leaseTTL-5*time.Second).Unix()),
	}
}
