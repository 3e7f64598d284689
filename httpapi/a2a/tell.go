package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// telling is what one process does about one task.
type telling struct {
	pusher   *pusher
	id       execution.ID
	attempts map[string]attempt // by config
}

// attempt is what was tried to tell one config of one state.
type attempt struct {
	mark string
	n    int
	next time.Time
}

// markOf names the state of a task: another one has another name.
func markOf(view execution.View) string {
	state := string(statusOf(view).State)
	switch {
	case view.State == execution.WaitingForInput && view.Interaction != nil:
		return named(state+":", string(view.Interaction.RequestID))
	case view.State == execution.Suspended && view.Suspension != nil:
		return state + ":" + string(view.Suspension.Reason)
	default:
		return state
	}
}

// due is a config that does not know yet what the task is.
type due struct {
	name string
	data []byte
}

// round tells every config what the task is now, if it does not know. It answers after what time there is something to try
// again, 0 for never, and whether all is told that there ever will be.
func (t *telling) round(ctx context.Context) (next time.Duration, done bool, err error) {
	pushes := t.pusher.face.cfg.Pushes
	view, err := t.pusher.link().Execution(ctx, t.id)
	if errors.Is(err, execution.ErrNotFound) {
		return 0, true, nil // its configs went with it
	}
	if err != nil {
		return 0, false, err
	}
	configs, marks, err := pushes.PushConfigs(ctx, t.id)
	if err != nil {
		return 0, false, err
	}
	mark := markOf(view)
	maps.DeleteFunc(t.attempts, func(name string, _ attempt) bool { return configs[name] == nil })
	var wanted []due
	for name, data := range configs {
		if marks[name] == mark {
			delete(t.attempts, name)
			continue
		}
		if wait := t.wait(name, mark); wait > 0 {
			next = sooner(next, wait)
			continue
		}
		wanted = append(wanted, due{name, data})
	}
	if len(wanted) > 0 {
		wait, err := t.tellAll(ctx, view, mark, wanted)
		return sooner(next, wait), false, err // the next round sees what is left
	}
	if next == 0 && (view.State.Terminal() || len(configs) == 0) {
		if done, err = pushes.DropPushes(ctx, t.id, mark); !done {
			next = t.pusher.face.cfg.Push.Backoff // a config came meanwhile
		}
	}
	return next, done, err
}

func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// wait is how long the next attempt has to wait.
func (t *telling) wait(name, mark string) time.Duration {
	if tried := t.attempts[name]; tried.mark == mark {
		return time.Until(tried.next)
	}
	return 0
}

// tellAll tells several configs at once: a slow one holds up nobody else.
func (t *telling) tellAll(ctx context.Context, view execution.View, mark string, wanted []due) (time.Duration, error) {
	body, err := json.Marshal(taskOf(view))
	if err != nil {
		return 0, fmt.Errorf("encode task: %w", err)
	}
	results := make([]error, len(wanted))
	var all sync.WaitGroup
	for i, one := range wanted {
		all.Go(func() { results[i] = t.tell(ctx, one, body) })
	}
	all.Wait()
	next := time.Millisecond // a round that told all looks once more: there may be an end
	for i, one := range wanted {
		if results[i] != nil && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		wait, err := t.settle(ctx, view, mark, one.name, results[i])
		if err != nil {
			return 0, err
		}
		if wait > 0 {
			next = sooner(next, wait)
		}
	}
	return next, nil
}

func (t *telling) tell(ctx context.Context, one due, body []byte) error {
	var config stored
	if err := json.Unmarshal(one.data, &config); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return t.pusher.sender.send(ctx, config.Config, body)
}

// settle notes that a config was told, or when it is tried again. What cannot be told, or not for too long, is taken for told.
func (t *telling) settle(ctx context.Context, view execution.View, mark, name string, failed error) (time.Duration, error) {
	timing, logger := t.pusher.face.cfg.Push, t.pusher.face.cfg.Logger
	tried := t.attempts[name]
	if tried.mark != mark {
		tried = attempt{mark: mark}
	}
	tried.n++
	late := time.Since(time.UnixMilli(view.UpdatedAtMs)) > timing.GiveUp
	if failed != nil && !late && !errors.Is(failed, errRefused) {
		wait := timing.MaxBackoff
		if shift := tried.n - 1; shift < 16 {
			wait = min(timing.Backoff<<shift, wait)
		}
		wait = wait/2 + rand.N(wait/2+1)
		tried.next = time.Now().Add(wait)
		t.attempts[name] = tried
		logger.InfoContext(ctx, "a notification failed and is sent again",
			"execution", t.id, "config", name, "attempt", tried.n, "error", failed)
		return wait, nil
	}
	if failed != nil {
		logger.WarnContext(ctx, "a notification is given up",
			"execution", t.id, "config", name, "attempt", tried.n, "error", failed)
	}
	delete(t.attempts, name)
	return 0, t.pusher.face.cfg.Pushes.MarkPushed(ctx, t.id, name, mark)
}
