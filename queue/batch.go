package queue

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// batch collects the scripts of several enqueues, so that they travel in one pipeline. One goroutine uses it.
type batch struct {
	pipe       redis.Pipeliner
	cmds       []*redis.Cmd // one per enqueue, in order
	withSource bool         // send the source of the script: the node does not know its digest
}

type batchKey struct{}

func withBatch(ctx context.Context, b *batch) context.Context {
	return context.WithValue(ctx, batchKey{}, b)
}

// batchOf is the batch that an enqueue script belongs to, or nil.
func batchOf(ctx context.Context, keys []string) *batch {
	if scriptOf(keys) != enqueueScript {
		return nil
	}
	b, _ := ctx.Value(batchKey{}).(*batch)
	return b
}

// clientView is the Redis client as the enqueueing Asynq sees it: enqueue scripts are collected and answered with
// success; their true replies come with the batch.
type clientView struct{ redis.UniversalClient }

// EvalSha collects an enqueue, or asks Asynq for the source.
func (v clientView) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	b := batchOf(ctx, keys)
	switch {
	case b == nil:
		return v.UniversalClient.EvalSha(ctx, sha, keys, args...)
	case b.withSource:
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(noScript{})
		return cmd
	default:
		return b.collect(ctx, b.pipe.EvalSha(ctx, sha, keys, args...))
	}
}

// Eval collects an enqueue with its source.
func (v clientView) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	if b := batchOf(ctx, keys); b != nil {
		return b.collect(ctx, b.pipe.Eval(ctx, source, keys, args...))
	}
	return v.UniversalClient.Eval(ctx, source, keys, args...)
}

func (b *batch) collect(ctx context.Context, cmd *redis.Cmd) *redis.Cmd {
	b.cmds = append(b.cmds, cmd)
	enqueued := redis.NewCmd(ctx)
	enqueued.SetVal(int64(1))
	return enqueued
}

// noScript is Redis's refusal of an unknown digest, given by us.
type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT send the source" }

// RedisError marks a reply of Redis.
func (noScript) RedisError() {}
