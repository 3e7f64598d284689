package bench

import (
	"context"

	"github.com/redis/go-redis/v9"
)

const coalesced = 128 // scripts of one pipeline at most

// coalescer is a client whose scripts of many goroutines travel in pipelines. It is for filling a store.
type coalescer struct {
	redis.UniversalClient
	jobs chan coalesceJob
}

type coalesceJob struct {
	sha  string
	keys []string
	args []any
	done chan *redis.Cmd
}

// newCoalescer begins to join scripts until ctx ends.
func newCoalescer(ctx context.Context, rdb redis.UniversalClient) *coalescer {
	c := &coalescer{UniversalClient: rdb, jobs: make(chan coalesceJob, 4*coalesced)}
	for range 3 { // so that Redis works while the next pipeline is written
		go c.run(ctx)
	}
	return c
}

// EvalSha sends a script together with those of others.
func (c *coalescer) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	job := coalesceJob{sha, keys, args, make(chan *redis.Cmd, 1)}
	select {
	case c.jobs <- job:
	case <-ctx.Done():
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(ctx.Err())
		return cmd
	}
	return <-job.done
}

func (c *coalescer) run(ctx context.Context) {
	for {
		var some []coalesceJob
		select {
		case <-ctx.Done():
			c.refuse(ctx)
			return
		case job := <-c.jobs:
			some = append(some, job)
		}
	more:
		for len(some) < coalesced {
			select {
			case job := <-c.jobs:
				some = append(some, job)
			default:
				break more
			}
		}
		c.send(ctx, some)
	}
}

func (c *coalescer) send(ctx context.Context, jobs []coalesceJob) {
	pipe := c.Pipeline()
	commands := make([]*redis.Cmd, len(jobs))
	for i, job := range jobs {
		commands[i] = pipe.EvalSha(ctx, job.sha, job.keys, job.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, job := range jobs {
		job.done <- commands[i]
	}
}

// refuse answers what came after the end.
func (c *coalescer) refuse(ctx context.Context) {
	for {
		select {
		case job := <-c.jobs:
			cmd := redis.NewCmd(ctx)
			cmd.SetErr(ctx.Err())
			job.done <- cmd
		default:
			return
		}
	}
}
