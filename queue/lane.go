package queue

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// lane is one Asynq server: a set of queues and a number of slots.
type lane struct {
	ctx    context.Context // of the runners; they outlive every call, and Asynq's own contexts end for its own reasons
	runner Runner
	asynq  *asynq.Server
	view   *serverView
	waiter *waiter
	taker  *taker
	waker  *Waker
	slots  chan struct{}
	crew   *crew
	stats  *counters
	log    *slog.Logger

	handlers sync.WaitGroup
	running  sync.WaitGroup // the listener
}

func newLane(
	ctx context.Context, rdb redis.UniversalClient, runner Runner, stats *counters, cfg ServerConfig,
	queues map[string]int, concurrency int,
) *lane {
	order := newOrder(queues)
	l := &lane{
		ctx: ctx, runner: runner, waiter: newWaiter(ctx, order.queues, concurrency), waker: cfg.Waker,
		slots: make(chan struct{}, concurrency), stats: stats, log: cfg.Logger,
	}
	l.crew = newCrew(l.run, l.waiter.stop)
	l.taker = newTaker(rdb, order, l.waiter, stats, cfg)
	l.view = &serverView{
		UniversalClient: rdb, taker: l.taker, waiter: l.waiter, tokens: l.taker.tokens, log: cfg.Logger, stats: stats,
		ends: newEnds(rdb, cfg.Gather, cfg.endPatience), putBacks: map[string]struct{}{},
	}
	l.asynq = asynq.NewServerFromRedisClient(l.view, asynq.Config{
		Queues:                   queues,
		StrictPriority:           true, // the order is ours, and Asynq shuffles none for each look
		Concurrency:              concurrency,
		TaskCheckInterval:        time.Millisecond, // the wait is ours; this is what is left of Asynq's
		DelayedTaskCheckInterval: time.Second,
		JanitorInterval:          time.Hour, // nothing is retained
		ShutdownTimeout:          cfg.DrainTimeout,
		RetryDelayFunc:           retryDelay,
		IsFailure:                isFailure,
		Logger:                   asynqLog{cfg.Logger},
		LogLevel:                 asynq.InfoLevel,
	})
	return l
}

func (l *lane) start() error {
	if err := l.asynq.Start(asynq.HandlerFunc(l.handle)); err != nil {
		return err
	}
	l.waker.add(l.waiter)
	l.running.Go(func() { l.taker.listener.run(l.ctx) })
	return nil
}

// stop releases the wait first: Asynq's Stop returns only when the look under way has. Then no further look comes, and what
// was taken for one goes back. Ends of tasks wait no more for company.
func (l *lane) stop() {
	l.waker.remove(l.waiter)
	l.waiter.end()
	l.asynq.Stop()
	l.taker.giveBack(l.ctx)
	l.taker.passOn()
	l.view.ends.flush()
	l.taker.listener.close(l.ctx)
}

func (l *lane) shutdown() { l.asynq.Shutdown() }

// wait gives runners whose contexts have ended a moment to return.
func (l *lane) wait() {
	done := make(chan struct{})
	go func() {
		l.handlers.Wait()
		l.crew.all.Wait()
		close(done)
	}()
	timer := time.NewTimer(lastWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		l.log.Warn("runners are still at work after the end of the queue server", "running", len(l.slots))
	}
}
