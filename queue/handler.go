package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/hibiken/asynq"

	"github.com/pawl-run/pawl/execution"
)

const (
	shortPutBack = 50 * time.Millisecond // up to here the slot is held meanwhile; beyond, Asynq's forwarder keeps the time
	leastPutBack = 10 * time.Millisecond // unless the server stops: a task nobody wants must not go round and round
	slotWait     = time.Second           // for a slot that a runner still holds after Asynq gave up on its task
)

// errForeign is the error of a task of another kind: another program shares Redis and the name of a queue.
var errForeign = errors.New("not a task of Pawl")

// handle runs one task. The runner gets the lane's context: Asynq's ends by its own time-out and by its own cancel
// button, and the journal decides about both.
func (l *lane) handle(ctx context.Context, task *asynq.Task) error {
	l.handlers.Add(1)
	defer l.handlers.Done()
	defer l.waiter.returned()
	queue, _ := asynq.GetQueueName(ctx)
	id, _ := asynq.GetTaskID(ctx)
	if task.Type() != taskKind {
		l.stats.foreign.Add(1)
		l.log.Error("a task of another kind is in a queue of Pawl; it is given back", "kind", task.Type(), "queue", queue, "task", id)
		return errForeign
	}
	step, err := decodePayload(queue, task.Payload())
	if err != nil {
		l.stats.dropped.Add(1)
		l.log.Error("a task that nobody can read is dropped", "queue", queue, "task", id, "error", err)
		return nil
	}
	if !l.takeSlot() {
		return l.handBack(ctx, id, &execution.PutBack{After: slotWait, Err: errors.New("no slot is free")})
	}
	err = l.crew.do(step)
	<-l.slots
	var back *execution.PutBack
	switch {
	case err == nil:
		l.stats.done.Add(1)
		return nil
	case errors.As(err, &back):
		return l.handBack(ctx, id, back)
	default:
		l.stats.failed.Add(1)
		l.log.Warn("a task failed and will be tried again", "queue", queue, "task", id, "error", err)
		return err
	}
}

// takeSlot is false when none becomes free soon. Asynq's own limit counts a task as over when its time is, although its
// runner may still be at work.
func (l *lane) takeSlot() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case l.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-l.waiter.stop:
	}
	return false
}

// run calls the runner; a panic becomes an error.
func (l *lane) run(task execution.Task) (err error) {
	l.stats.running.Add(1)
	defer l.stats.running.Add(-1)
	defer func() {
		if cause := recover(); cause != nil {
			l.log.Error("the runner panicked", "task", task.ID(), "panic", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("run task %s: panic: %v", task.ID(), cause)
		}
	}()
	return l.runner.Run(l.ctx, task)
}

// handBack returns the error with which Asynq hands the task back. A short delay is spent here and the task goes to the
// end of its queue; a long one goes through Asynq's retry set, in whole seconds, never too early.
func (l *lane) handBack(ctx context.Context, id string, back *execution.PutBack) error {
	l.stats.putBack.Add(1)
	stopped := l.waiter.stopped()
	if back.After > shortPutBack || ctx.Err() != nil {
		return back
	}
	if !stopped {
		pause(l.waiter.stop, max(back.After, leastPutBack))
	}
	l.view.wantPutBack(id)
	return back
}

// retryDelay is when Asynq tries again: as the runner asked, else after 1 to 30 s, and later for what is not ours. Asynq
// cuts the instant to whole seconds, so one is added to what the runner asked.
func retryDelay(retried int, err error, _ *asynq.Task) time.Duration {
	var back *execution.PutBack
	if errors.As(err, &back) {
		return back.After + time.Second - time.Millisecond
	}
	if errors.Is(err, errForeign) {
		return 30*time.Second + rand.N(30*time.Second)
	}
	limit := min(time.Second<<min(retried, 5), 29*time.Second)
	return time.Second + rand.N(limit)
}

// isFailure keeps what is no fault from counting towards the archive.
func isFailure(err error) bool {
	var back *execution.PutBack
	return err != nil && !errors.As(err, &back) && !errors.Is(err, errForeign)
}
