package queue

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/put_back.lua
var putBackSource string

// end carries out the end of a task: done, retry, archive or requeue.
//
// Asynq gives up on an end whose first try failed: it repeats it with the context that it has canceled by then, and the
// task would stand as active for a minute and run again. An end of a task that is no longer ours is an end all the same.
func (v *serverView) end(ctx context.Context, keys []string, args []any, to send) *redis.Cmd {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
	}
	if id, ok := args[0].(string); ok && scriptOf(keys) == retryScript && v.takePutBack(id) {
		return v.putBack(ctx, queueOf(keys[0]), id)
	}
	cmd := to(ctx, keys, args)
	if redis.HasErrorPrefix(cmd.Err(), "NOT FOUND") {
		v.stats.gone.Add(1)
		v.log.Debug("the task was ended elsewhere", "task", args[0], "queue", queueOf(keys[0]))
		gone := redis.NewCmd(ctx)
		gone.SetVal("OK")
		return gone
	}
	return cmd
}

// wantPutBack asks that the coming retry of the task put it back into its queue at once.
func (v *serverView) wantPutBack(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.putBacks[id] = struct{}{}
}

func (v *serverView) takePutBack(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, ok := v.putBacks[id]
	delete(v.putBacks, id)
	return ok
}

// putBack moves an active task to the end of its queue and wakes one worker, in one round trip.
func (v *serverView) putBack(ctx context.Context, queue, id string) *redis.Cmd {
	pipe := v.Pipeline()
	cmd := writePutBack(ctx, pipe, queue, id, "tail")
	if !v.waiter.reserve(queue) {
		pushTokens(ctx, pipe, v.tokens.prefix, queue, 1)
	}
	_, _ = pipe.Exec(ctx) // cmd has the error that counts
	v.waiter.wake(queue)
	return cmd
}

func writePutBack(ctx context.Context, pipe redis.Pipeliner, queue, id, place string) *redis.Cmd {
	keys := []string{activeKey(queue), leaseKey(queue), pendingKey(queue), taskKey(queue, id)}
	return pipe.Eval(ctx, putBackSource, keys, id, time.Now().UnixNano(), place)
}
