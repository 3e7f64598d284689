package queue

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const endTimeout = 3 * time.Second

// serverView is the Redis client as a server's Asynq sees it: looks are answered by the taker, ends of tasks get a context
// that lives.
type serverView struct {
	redis.UniversalClient
	taker  *taker
	waiter *waiter
	tokens *tokens
	ends   *ends // of tasks; nil in a Cluster
	log    *slog.Logger
	stats  *counters

	mu       sync.Mutex
	putBacks map[string]struct{} // ids that go back to their queue at once; guarded by mu
}

// send is EVALSHA or EVAL of one script.
type send func(ctx context.Context, keys []string, args []any) *redis.Cmd

// EvalSha answers Asynq's first try of a script.
func (v *serverView) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return v.answer(ctx, keys, args, func(ctx context.Context, keys []string, args []any) *redis.Cmd {
		if v.ends != nil && scriptOf(keys) == endScript {
			return v.ends.evalSha(ctx, sha, keys, args, v.waiter.crowded)
		}
		return v.UniversalClient.EvalSha(ctx, sha, keys, args...)
	})
}

// Eval answers Asynq's second try, after NOSCRIPT.
func (v *serverView) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return v.answer(ctx, keys, args, func(ctx context.Context, keys []string, args []any) *redis.Cmd {
		return v.UniversalClient.Eval(ctx, source, keys, args...)
	})
}

func (v *serverView) answer(ctx context.Context, keys []string, args []any, to send) *redis.Cmd {
	switch scriptOf(keys) {
	case lookScript:
		return v.taker.next()
	case retryScript, endScript:
		return v.end(ctx, keys, args, to)
	case forwardScript:
		cmd := to(ctx, keys, args)
		if n, ok := cmd.Val().(int64); ok && n > 0 {
			v.waiter.wake(queueOf(keys[1]))
		}
		return cmd
	default:
		return to(ctx, keys, args)
	}
}

func none(ctx context.Context) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(redis.Nil)
	return cmd
}

func jitter(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5) }
