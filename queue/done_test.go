package queue

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// doneView notes how Asynq ends tasks, with the source of its script.
type doneView struct {
	redis.UniversalClient
	mu     sync.Mutex
	source string
	ends   []*redis.Cmd // as they would have been sent by digest
}

func (v *doneView) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if scriptOf(keys) != endScript {
		return v.UniversalClient.EvalSha(ctx, sha, keys, args...)
	}
	all := []any{"evalsha", sha, len(keys)}
	for _, key := range keys {
		all = append(all, key)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ends = append(v.ends, redis.NewCmd(ctx, append(all, args...)...))
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(noScript{})
	return cmd
}

func (v *doneView) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	if scriptOf(keys) == endScript {
		v.mu.Lock()
		v.source = source
		v.mu.Unlock()
	}
	return v.UniversalClient.Eval(ctx, source, keys, args...)
}

// Ends that travel together leave Redis as the pinned Asynq's own ends leave it, and each has its own answer.
func TestGoldenEndsTogetherLeaveWhatAsynqsLeave(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byAsynq, byPawl := sharedWorld(t), sharedWorld(t)
	const n = 3
	view := &doneView{UniversalClient: byAsynq.rdb}
	server := asynq.NewServerFromRedisClient(view, asynq.Config{
		Queues: map[string]int{byAsynq.queue: 1}, TaskCheckInterval: time.Millisecond, Logger: asynqLog{quiet()},
	})
	require.NoError(t, server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil })))
	for i := range n {
		require.NoError(t, byAsynq.client(t).Enqueue(ctx, byAsynq.task(i)))
		require.NoError(t, byPawl.client(t).Enqueue(ctx, byPawl.task(i)))
	}
	require.Eventually(t, func() bool { return byAsynq.depth(t) == Depth{} }, deadline, time.Millisecond)
	server.Shutdown()
	require.Len(t, view.ends, n)

	taken := fetched(t, byPawl).kept
	require.Len(t, taken, n)
	var cmds []redis.Cmder
	for i, end := range view.ends {
		require.True(t, isDone(end), "%v", end.Args())
		cmds = append(cmds, endOf(ctx, end, byAsynq.queue, byPawl.queue, taken[i].id))
	}
	gone := endOf(ctx, view.ends[0], byAsynq.queue, byPawl.queue, "nobody")
	ping := redis.NewCmd(ctx, "ping")
	answered := 0
	send, arrived := newDoneJoin().board(byPawl.rdb, append(cmds, gone, ping), func() { answered++ })
	require.Len(t, send, 2, "the ends share a script")
	require.NoError(t, newDoneJoin().script.Load(ctx, byPawl.rdb).Err())
	pipe := byPawl.rdb.Pipeline()
	require.NoError(t, pipe.BatchProcess(ctx, send...))
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	arrived()
	require.Equal(t, 1, answered)
	for _, cmd := range cmds {
		require.NoError(t, cmd.Err())
		require.Equal(t, "OK", cmd.(*redis.Cmd).Val())
	}
	require.Equal(t, "PONG", ping.Val())
	require.Equal(t, byAsynq.rdb.Eval(ctx, view.source, keysOf(gone), gone.Args()[doneID:]...).Err().Error(), gone.Err().Error())
	require.True(t, redis.HasErrorPrefix(gone.Err(), "NOT FOUND"))
	require.Equal(t, leftOf(t, byAsynq), leftOf(t, byPawl))
}

func keysOf(cmd *redis.Cmd) (keys []string) {
	for _, arg := range cmd.Args()[doneActive:doneID] {
		keys = append(keys, textOf(arg))
	}
	return keys
}

// endOf is the end of another task of another queue.
func endOf(ctx context.Context, end *redis.Cmd, from, to, id string) *redis.Cmd {
	args := append([]any(nil), end.Args()...)
	for i := doneActive; i <= doneTotal; i++ {
		args[i] = strings.ReplaceAll(textOf(args[i]), "{"+from+"}", "{"+to+"}")
	}
	args[doneTask], args[doneID] = taskKey(to, id), id
	return redis.NewCmd(ctx, args...)
}

// leftOf is what Redis holds of the world's queue: the counts, and nothing of the tasks.
func leftOf(t *testing.T, w *world) map[string]any {
	t.Helper()
	ctx := context.Background()
	left := map[string]any{}
	for _, key := range w.rdb.Keys(ctx, "asynq:{"+w.queue+"}:*").Val() {
		ttl := w.rdb.TTL(ctx, key).Val().Round(time.Hour)
		left[strings.ReplaceAll(key, w.queue, "QUEUE")] = []any{w.rdb.Get(ctx, key).Val(), ttl}
	}
	return left
}
