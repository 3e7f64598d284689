package queue

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	idleWait   = time.Second // a waiting server looks for itself this often
	endTimeout = 3 * time.Second
	leaseTTL   = 30 * time.Second // Asynq's, hard-coded there
	clusterGap = 2 * time.Millisecond
	// freshFor is how long a look may wait inside Asynq, which works out a task's lease before it looks: it takes a lease
	// that is too old for lost, and never ends the task.
	freshFor = leaseTTL / 3
)

// serverView is the Redis client as a server's Asynq sees it: looks that find nothing wait for a wake-up, ends of tasks
// get a context that lives, errors of looks pause.
type serverView struct {
	redis.UniversalClient
	queues   []string
	waiter   *waiter
	listener *listener
	full     func() bool // no slot is left after the task just taken
	log      *slog.Logger
	stats    *counters
	cluster  bool
	fresh    time.Duration // freshFor but in tests

	// Owned by the one goroutine in which Asynq looks.
	empty    int             // looks without a task since the round began
	holding  map[string]bool // the round's queues that hold tasks; nil when unknown
	failures int             // looks in a row that failed

	mu       sync.Mutex
	putBacks map[string]struct{} // ids that go back to their queue at once; guarded by mu
}

// send is EVALSHA or EVAL of one script.
type send func(ctx context.Context, keys []string, args []any) *redis.Cmd

// EvalSha answers Asynq's first try of a script.
func (v *serverView) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return v.answer(ctx, keys, args, func(ctx context.Context, keys []string, args []any) *redis.Cmd {
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
		return v.look(keys, args, to)
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

func (v *serverView) look(keys []string, args []any, to send) *redis.Cmd {
	ctx := v.waiter.ctx // Asynq gives none that would end with the server
	if v.waiter.stopped() {
		return none(ctx)
	}
	v.survey(ctx)
	cmd := none(ctx)
	if v.holding == nil || v.holding[queueOf(keys[0])] {
		cmd = to(ctx, keys, args)
	}
	switch {
	case !v.nothing(ctx, cmd):
		return cmd
	case v.empty+1 < len(v.queues):
		v.empty++
		return cmd
	default:
		v.empty = 0
		v.stats.emptyRounds.Add(1)
		return v.idle(ctx, args, to)
	}
}

// survey begins a round, and after its first look in vain asks about all queues at once: the looks at those that hold
// nothing need no round trip.
func (v *serverView) survey(ctx context.Context) {
	switch {
	case v.empty == 0:
		v.waiter.beginRound()
		v.holding = nil
	case v.empty == 1 && len(v.queues) > 2:
		queues, err := v.backlog(ctx)
		if err != nil {
			return // the looks will tell
		}
		v.holding = make(map[string]bool, len(queues))
		for _, queue := range queues {
			v.holding[queue] = true
		}
	}
}

// nothing classes the reply to a look and keeps the books: true when the queue was empty.
func (v *serverView) nothing(ctx context.Context, cmd *redis.Cmd) bool {
	err := cmd.Err()
	switch {
	case errors.Is(err, redis.Nil):
		v.recovered()
		return true
	case err == nil:
		v.recovered()
		v.empty = 0
		if queue, woken := v.waiter.leave(); woken && v.full() {
			if queue == "" {
				queue = lookedAt(cmd)
			}
			v.listener.pass(ctx, queue) // somebody else has a slot for the task that it is about
		}
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		// Asynq asks again with the source.
	default:
		v.empty = 0
		v.waiter.leave()
		if !v.waiter.stopped() {
			v.failed(err)
		}
	}
	return false
}

func lookedAt(cmd *redis.Cmd) string {
	if args := cmd.Args(); len(args) > 3 {
		key, _ := args[3].(string) // name, script, number of keys, first key
		return queueOf(key)
	}
	return ""
}

// idle waits until a wake-up names a queue, and looks there on Asynq's behalf: the reply carries its own queue, whatever
// the queue Asynq asked about. The wait ends with the server, and before the lease that Asynq has worked out is too old.
func (v *serverView) idle(ctx context.Context, args []any, to send) *redis.Cmd {
	for began := time.Now(); time.Since(began) < v.fresh; {
		queue, woken := v.waiter.wait(jitter(idleWait), v.listener.ring)
		switch {
		case v.waiter.stopped():
			return none(ctx)
		case woken && queue == "":
			return none(ctx) // several queues: a round of looks
		case woken:
			v.stats.wakes.Add(1)
			if cmd := v.lookAt(ctx, queue, args, to); !v.nothing(ctx, cmd) {
				return cmd
			}
			if !v.cluster {
				continue // somebody else was faster
			}
			pause(v.waiter.stop, clusterGap) // the token may have overtaken its task on the way to another node
			if cmd := v.lookAt(ctx, queue, args, to); !v.nothing(ctx, cmd) {
				return cmd
			}
		default:
			v.stats.emptyRounds.Add(1)
			if cmd := v.search(ctx, args, to); cmd != nil {
				return cmd
			}
		}
	}
	return none(ctx)
}

func (v *serverView) lookAt(ctx context.Context, queue string, args []any, to send) *redis.Cmd {
	args = slices.Clone(args)
	args[0] = time.Now().Add(leaseTTL).Unix() // Asynq worked it out before the wait
	args[1] = taskKeyPrefix(queue)
	return to(ctx, lookKeys(queue), args)
}

// search is the look at all queues when no wake-up came: it finds what was lost or forwarded elsewhere. A queue that is
// not empty and yet yields nothing holds ids without a task; they are stepped over, a bounded number at a time.
func (v *serverView) search(ctx context.Context, args []any, to send) *redis.Cmd {
	const mostGhosts = 100
	queues, err := v.backlog(ctx)
	if err != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(err)
		v.nothing(ctx, cmd)
		return cmd
	}
	v.recovered()
	for _, queue := range queues {
		for range mostGhosts {
			if v.waiter.stopped() {
				return none(ctx)
			}
			if cmd := v.lookAt(ctx, queue, args, to); !v.nothing(ctx, cmd) {
				return cmd
			}
			if n, err := v.LLen(ctx, pendingKey(queue)).Result(); err != nil || n == 0 {
				break
			}
		}
	}
	return nil
}

// backlog lists the queues that hold tasks and are not paused, in one round trip.
func (v *serverView) backlog(ctx context.Context) ([]string, error) {
	pipe := v.Pipeline()
	lengths := make([]*redis.IntCmd, len(v.queues))
	paused := make([]*redis.IntCmd, len(v.queues))
	for i, queue := range v.queues {
		lengths[i] = pipe.LLen(ctx, pendingKey(queue))
		paused[i] = pipe.Exists(ctx, pausedKey(queue))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	var found []string
	for i, queue := range v.queues {
		if lengths[i].Val() > 0 && paused[i].Val() == 0 {
			found = append(found, queue)
		}
	}
	return found, nil
}

func (v *serverView) failed(err error) {
	v.failures++
	v.stats.lookErrors.Add(1)
	if v.failures == 1 {
		v.log.Warn("cannot take tasks from Redis; trying again", "error", err)
	}
	pause(v.waiter.stop, backoff(v.failures))
}

func (v *serverView) recovered() {
	if v.failures > 0 {
		v.log.Info("taking tasks from Redis again", "failures", v.failures)
		v.failures = 0
	}
}

func none(ctx context.Context) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(redis.Nil)
	return cmd
}

func jitter(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5) }
