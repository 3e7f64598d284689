package queue

import (
	"context"
	"crypto/rand"
	_ "embed"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/gather"
)

const (
	idleWait    = time.Second             // a waiting server looks for itself this often
	suspectWait = 2500 * time.Millisecond // the same for the suspect queue, where nothing is in a hurry
	listenAfter = 2 * time.Millisecond    // of waiting; up to here wake-ups of this process alone are heard
	surveyAfter = 25 * time.Millisecond   // the look that comes then asks about the other queues as well
	batchOfLook = 16                      // most tasks of one look
	clusterGap  = 2 * time.Millisecond
	leaseTTL    = 30 * time.Second // Asynq's, hard-coded there
	// freshFor is how long a look may wait inside Asynq, which works out a task's lease before it looks: it takes a lease
	// that is too old for lost, and never ends the task. It is also how long a task may be kept for the next look.
	freshFor = leaseTTL / 3
)

//go:embed lua/take.lua
var takeSource string

// taker takes tasks on behalf of one Asynq server. Asynq asks about one queue at a time and takes any answer, because the
// task itself says which queue it is from: so the taker goes where tasks are, takes as many as there are free slots in one
// round trip, and keeps them for the next looks. All but its making and giveBack after Stop happens in the one goroutine in which
// Asynq looks.
type taker struct {
	rdb      redis.UniversalClient
	group    *gather.Group // what is sent with a look rides with it; nil in a Cluster
	script   *redis.Script
	order    *order
	keys     [][]string // of each queue's look
	prefixes []any      // of each queue's tasks
	waiter   *waiter
	listener *listener
	tokens   *tokens
	log      *slog.Logger
	stats    *counters
	cluster  bool
	patience time.Duration // between looks of its own
	fresh    time.Duration // freshFor but in tests
	waited   func(queue string, took time.Duration)

	holding    []bool    // by index: the queue may hold tasks
	surveyNext time.Time // when the other queues are asked along with a look; zero: all are asked now
	kept       []kept    // taken and not handed out yet
	buffer     []kept    // the memory of kept
	keptAt     time.Time // before they were taken
	failures   int       // looks in a row that failed
}

func newTaker(rdb redis.UniversalClient, o *order, w *waiter, stats *counters, cfg ServerConfig) *taker {
	names := make([]string, len(o.queues))
	t := &taker{
		rdb: rdb, group: cfg.Gather, script: redis.NewScript(takeSource), order: o, waiter: w, stats: stats, log: cfg.Logger,
		tokens: newTokens(rdb, cfg.Gather, cfg.Prefix, cfg.Logger), patience: idleWait, fresh: freshFor,
		waited:  cfg.Waited,
		holding: make([]bool, len(o.queues)),
	}
	for i, q := range o.queues {
		names[i] = q.name
		t.keys = append(t.keys, lookKeys(q.name))
		t.prefixes = append(t.prefixes, taskKeyPrefix(q.name))
		if q.name == execution.SuspectQueue {
			t.patience = suspectWait
		}
	}
	if len(o.queues) > 1 {
		t.patience = idleWait
	}
	_, t.cluster = rdb.(*redis.ClusterClient)
	t.listener = newListener(rdb, cfg.Prefix, strings.ToLower(rand.Text()), names, w, cfg.Logger)
	return t
}

// kept is a task that Redis has given and Asynq has not got yet.
type kept struct {
	queue    int
	id, task string // the task in Asynq's encoding
}

// next answers one look of Asynq: with a task, or with nothing when the server stops or when the lease that Asynq has
// worked out for this look would become too old.
func (t *taker) next() *redis.Cmd {
	ctx := t.waiter.ctx // Asynq gives none that would end with the server
	for began := time.Now(); !t.waiter.stopped(); {
		if cmd := t.handOut(ctx); cmd != nil {
			return cmd
		}
		looked, err := t.fetch(ctx)
		switch {
		case err != nil:
			t.failed(err)
			cmd := redis.NewCmd(ctx)
			cmd.SetErr(err)
			return cmd
		case len(t.kept) == 0 && time.Since(began) >= t.fresh:
			return none(ctx)
		case !looked:
			t.idle()
		}
	}
	return none(ctx)
}

// handOut answers with a task that is kept, if any. A free slot waits for each, so none is kept for long, unless the
// process stood still: then its lease is too old to begin with.
func (t *taker) handOut(ctx context.Context) *redis.Cmd {
	if len(t.kept) > 0 && time.Since(t.keptAt) > t.fresh {
		t.giveBack(ctx)
	}
	if len(t.kept) == 0 {
		return nil
	}
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(t.kept[0].task)
	t.kept = t.kept[1:]
	if !t.waiter.answered() {
		t.passOn() //nolint:contextcheck // it is sent after the look
	}
	return cmd
}

// passOn tells other processes about tasks for which no slot is left here.
func (t *taker) passOn() {
	for i, q := range t.order.queues {
		if t.holding[i] || t.waiter.isMarked(i) {
			t.tokens.owe(q.name)
		}
	}
}

// fetch makes one round trip to where tasks are known to be. It is false when no queue is known to hold any.
func (t *taker) fetch(ctx context.Context) (looked bool, err error) {
	t.waiter.collect(t.holding)
	if t.surveyNext.IsZero() {
		return true, t.survey(ctx)
	}
	queue, most, ok := t.order.choose(t.holding, t.waiter.room(batchOfLook))
	if !ok {
		return false, nil
	}
	t.waiter.hold(most)
	t.keptAt = time.Now()
	found, err := t.take(ctx, queue, most)
	if err == nil && found == nil && t.cluster {
		pause(t.waiter.stop, clusterGap) // the token may have overtaken its task on the way to another node
		found, err = t.look(ctx, queue, most)
	}
	t.keep(queue, found)
	if err != nil {
		t.holding[queue], t.surveyNext = false, time.Time{} // the survey finds what can be reached
		return true, err
	}
	t.recovered()
	t.order.took(queue, len(t.kept))
	t.holding[queue] = len(t.kept) == most || found != nil && len(t.kept) == 0 // or only ids without a task so far
	return true, nil
}

func (t *taker) keep(queue int, found []any) {
	t.kept = t.buffer[:0]
	for i := 0; i+2 < len(found); i += 3 {
		id, _ := found[i].(string)
		task, _ := found[i+1].(string)
		since, _ := found[i+2].(string)
		t.waits(queue, since)
		t.kept = append(t.kept, kept{queue: queue, id: id, task: task})
	}
	t.buffer = t.kept
	t.waiter.hold(len(t.kept))
}

// waits tells how long a task of the queue has waited, by the clock of whoever enqueued it.
func (t *taker) waits(queue int, since string) {
	if nanos, err := strconv.ParseInt(since, 10, 64); err == nil && t.waited != nil {
		t.waited(t.order.queues[queue].name, max(0, time.Since(time.Unix(0, nanos))))
	}
}

// idle waits for a wake-up, or until it is time to look at all queues.
func (t *taker) idle() {
	switch {
	case t.waiter.wait(jitter(t.patience), t.listener.ring):
		t.stats.wakes.Add(1)
	case !t.waiter.stopped():
		t.surveyNext = time.Time{}
	}
}

func (t *taker) failed(err error) {
	t.failures++
	if t.waiter.stopped() {
		return
	}
	t.stats.lookErrors.Add(1)
	if t.failures == 1 {
		t.log.Warn("cannot take tasks from Redis; trying again", "error", err)
	}
	pause(t.waiter.stop, backoff(t.failures))
}

func (t *taker) recovered() {
	if t.failures > 0 {
		t.log.Info("taking tasks from Redis again", "failures", t.failures)
		t.failures = 0
	}
}
