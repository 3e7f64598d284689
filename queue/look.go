package queue

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// take takes up to most tasks from one queue: id, task, id, task, … Now and then it also asks which of the others hold
// any, in the same round trip. Nil means that the queue is empty or paused.
func (t *taker) take(ctx context.Context, queue, most int) ([]any, error) {
	if len(t.keys) == 1 || time.Now().Before(t.surveyNext) {
		return t.look(ctx, queue, most)
	}
	pipe := t.rdb.Pipeline()
	cmd := t.script.EvalSha(ctx, pipe, t.keys[queue], t.lookArgs(queue, most)...)
	asked := t.ask(ctx, pipe, queue)
	if t.group != nil {
		t.group.Along(ctx, pipe.Cmds()...)
	} else {
		_, _ = pipe.Exec(ctx) // each reply is looked at
	}
	t.learn(asked, queue)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		return t.look(ctx, queue, most)
	}
	return taken(cmd)
}

func (t *taker) look(ctx context.Context, queue, most int) ([]any, error) {
	args := t.lookArgs(queue, most)
	var cmd *redis.Cmd
	if t.group != nil {
		cmd = redis.NewCmd(ctx, evalShaArgs(t.script.Hash(), t.keys[queue], args)...)
		t.group.Along(ctx, cmd)
	} else {
		cmd = t.script.EvalSha(ctx, t.rdb, t.keys[queue], args...)
	}
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = t.script.Eval(ctx, t.rdb, t.keys[queue], args...)
	}
	return taken(cmd)
}

func (t *taker) lookArgs(queue, most int) []any {
	return []any{time.Now().Add(leaseTTL).Unix(), t.prefixes[queue], most}
}

func taken(cmd *redis.Cmd) ([]any, error) {
	found, err := cmd.Slice()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return found, err
}

// survey asks about all queues in one round trip. It finds what no wake-up told of.
func (t *taker) survey(ctx context.Context) error {
	pipe := t.rdb.Pipeline()
	asked := t.ask(ctx, pipe, -1)
	_, err := pipe.Exec(ctx)
	if t.learn(asked, -1) == 0 {
		return err
	}
	for _, holding := range t.holding {
		if holding {
			return nil
		}
	}
	t.recovered()
	t.stats.emptyRounds.Add(1)
	return nil
}

// answers is what a survey hears of one queue.
type answers struct{ pending, paused *redis.IntCmd }

func (t *taker) ask(ctx context.Context, pipe redis.Pipeliner, except int) []answers {
	asked := make([]answers, len(t.keys))
	for i, keys := range t.keys {
		if i != except {
			asked[i] = answers{pending: pipe.LLen(ctx, keys[0]), paused: pipe.Exists(ctx, keys[1])}
		}
	}
	return asked
}

// learn notes which queues hold tasks and returns how many answered. A queue that did not, as when its node of a Cluster is
// down, is left alone, and the others are not held up by asking it soon again.
func (t *taker) learn(asked []answers, except int) (answered int) {
	gap := surveyAfter
	for i, a := range asked {
		switch {
		case i == except:
		case a.pending.Err() != nil || a.paused.Err() != nil:
			gap = t.patience
			t.holding[i] = false
		default:
			answered++
			t.holding[i] = a.pending.Val() > 0 && a.paused.Val() == 0
		}
	}
	t.surveyNext = time.Now().Add(gap)
	return answered
}

// giveBack puts the tasks that are kept back to the head of their queues and tells other workers, in one round trip. One
// that cannot be given back is left to the reaper.
func (t *taker) giveBack(ctx context.Context) {
	if len(t.kept) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	pipe := t.rdb.Pipeline()
	cmds := make([]*redis.Cmd, 0, len(t.kept))
	for i := len(t.kept) - 1; i >= 0; i-- { // the oldest comes to stand first
		k := t.kept[i]
		queue := t.order.queues[k.queue].name
		cmds = append(cmds, writePutBack(ctx, pipe, queue, k.id, "head"))
		pushTokens(ctx, pipe, t.tokens.prefix, queue, 1)
	}
	_, _ = pipe.Exec(ctx)
	for _, cmd := range cmds {
		if cmd.Err() != nil {
			t.log.Warn("a task that was not begun cannot be given back; the reaper will see to it", "error", cmd.Err())
		}
	}
	t.kept = nil
	t.waiter.hold(0)
}
