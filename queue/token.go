package queue

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/gather"
)

const (
	tokenCap   = 128              // tokens a list may hold: as many workers as may be about to wait at once
	tokenTTL   = 4 * time.Second  // of a list that nobody pops; longer than a server waits before it looks for itself
	tokenGap   = time.Millisecond // between wake-ups of one process about one queue, the least
	tokenRises = 3                // how often the gap doubles while nobody takes them
	tokenTries = 16               // most tokens of one enqueue: a worker that takes one takes several tasks, and hands on what is left
	popTimeout = 5 * time.Second  // of one blocking pop
)

// pushTokens adds wake-ups for n workers of any process to the pipeline. The reply is how many lie there then.
func pushTokens(ctx context.Context, pipe redis.Pipeliner, prefix, queue string, n int) *redis.IntCmd {
	key := tokenKey(prefix, queue)
	values := make([]any, min(n, tokenTries))
	for i := range values {
		values[i] = "1"
	}
	lie := pipe.LPush(ctx, key, values...)
	pipe.LTrim(ctx, key, 0, tokenCap-1)
	pipe.PExpire(ctx, key, tokenTTL)
	return lie
}

// tokens sends the wake-ups of one sender. A busy one would send thousands a second, although one is enough to tell that a
// queue holds tasks: so those that come within a gap of another one about the same queue become one at its end. A wake-up
// that finds an earlier one still lying there tells nobody anything: all workers are busy, and the next one that is not finds
// what lies there. So the gap doubles with each of them, up to 8 ms, and is the least again after one that was taken.
// Safe for concurrent use.
type tokens struct {
	rdb    redis.UniversalClient
	group  *gather.Group // what is owed rides along with it; nil: it is sent by itself
	prefix string
	log    *slog.Logger

	mu   sync.Mutex
	next map[string]time.Time // queue → not before; guarded by mu
	owed map[string]bool      // queue → one is sent then; guarded by mu
	debt int                  // how many are owed; guarded by mu
	lain map[string]int       // queue → how many in a row found others lying there; guarded by mu
}

func newTokens(rdb redis.UniversalClient, group *gather.Group, prefix string, log *slog.Logger) *tokens {
	t := &tokens{
		rdb: rdb, group: group, prefix: prefix, log: log,
		next: map[string]time.Time{}, owed: map[string]bool{}, lain: map[string]int{},
	}
	if group != nil {
		group.Carry(t)
	}
	return t
}

// push adds n wake-ups to the pipeline, or sees to it that one follows soon. What it returns is to be called when the
// pipeline was sent: a wake-up that is owed must not come before the tasks it tells of, for whoever it woke would find nothing.
func (t *tokens) push(ctx context.Context, pipe redis.Pipeliner, queue string, n int) (sent func()) {
	if !t.now(queue) {
		return func() { t.owe(queue) } //nolint:contextcheck // what is owed is sent after the call
	}
	lie := pushTokens(ctx, pipe, t.prefix, queue, n)
	return func() { t.heard(queue, lie, n) }
}

// heard notes whether others lay there when n wake-ups came, and sets the gap.
func (t *tokens) heard(queue string, lie *redis.IntCmd, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lie.Err() != nil || lie.Val() <= int64(min(n, tokenTries)) {
		t.lain[queue] = 0
	} else {
		t.lain[queue] = min(t.lain[queue]+1, tokenRises)
	}
	if !t.owed[queue] { // else it comes when it was said to
		t.next[queue] = time.Now().Add(tokenGap << t.lain[queue])
	}
}

// now is false when a wake-up about the queue went out a moment ago, or is owed; another one is to be owed then.
func (t *tokens) now(queue string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := time.Now()
	if t.owed[queue] || t.next[queue].After(at) {
		return false
	}
	t.next[queue] = at.Add(tokenGap << t.lain[queue])
	return true
}

// owe sends a wake-up about tasks that are written when the gap is over, without holding up the caller. One that is owed already will do: it has not begun to be sent.
func (t *tokens) owe(queue string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owed[queue] {
		return
	}
	t.owed[queue] = true
	t.debt++
	wait := time.Until(t.next[queue])
	if t.group != nil && t.lain[queue] > 0 {
		wait += tokenGap // others lie there, so nobody waits for it, and somebody may take it along
	}
	time.AfterFunc(wait, func() { t.flush(queue) })
}

// paid notes that the wake-up that is owed goes out. The caller holds the lock.
func (t *tokens) paid(queue string) {
	t.owed[queue] = false
	t.debt--
	t.next[queue] = time.Now().Add(tokenGap << t.lain[queue])
}

// flush sends the wake-up that is owed, unless it went along with something else. Failing is harmless: workers look for
// themselves.
func (t *tokens) flush(queue string) {
	t.mu.Lock()
	owed := t.owed[queue]
	if owed && t.group == nil {
		t.paid(queue)
	}
	t.mu.Unlock()
	switch {
	case !owed:
	case t.group != nil:
		t.group.Depart(nil)
	default:
		t.alone(queue)
	}
}

// alone sends one wake-up.
func (t *tokens) alone(queue string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	pipe := t.rdb.Pipeline()
	lie := pushTokens(ctx, pipe, t.prefix, queue, 1)
	if _, err := pipe.Exec(ctx); err != nil {
		t.log.Debug("cannot send a wake-up", "queue", queue, "error", err)
	}
	t.heard(queue, lie, 1)
}

// Board implements gather.Rider: it gives up the wake-ups whose gap is over.
func (t *tokens) Board() (cmds []redis.Cmder, arrived func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.debt == 0 {
		return nil, nil
	}
	now, lies := time.Now(), map[string]*redis.IntCmd{}
	pipe := t.rdb.Pipeline() // only collects
	for queue, owed := range t.owed {
		if owed && !t.next[queue].After(now) {
			t.paid(queue)
			lies[queue] = pushTokens(context.Background(), pipe, t.prefix, queue, 1)
		}
	}
	return pipe.Cmds(), func() {
		for queue, lie := range lies {
			t.heard(queue, lie, 1)
		}
	}
}

// listener pops tokens for one server while it waits: one blocking pop at a time, on a connection of its own. A pop
// that outlives the wait goes on; a token that comes when the server can take no task is handed on.
type listener struct {
	rdb    redis.UniversalClient
	prefix string
	queues []string
	lists  []string // one per queue, then the bell
	waiter *waiter
	log    *slog.Logger
	arm    chan struct{} // holds at most one
	done   chan struct{} // closed when run has returned
	once   sync.Once
}

func newListener(rdb redis.UniversalClient, prefix, server string, queues []string, w *waiter, log *slog.Logger) *listener {
	l := &listener{
		rdb: rdb, prefix: prefix, queues: queues, waiter: w, log: log,
		arm: make(chan struct{}, 1), done: make(chan struct{}),
	}
	for _, queue := range queues {
		l.lists = append(l.lists, tokenKey(prefix, queue))
	}
	l.lists = append(l.lists, bellKey(prefix, server))
	return l
}

// ring starts a pop unless one is under way.
func (l *listener) ring() {
	select {
	case l.arm <- struct{}{}:
	default:
	}
}

func (l *listener) run(ctx context.Context) {
	defer close(l.done)
	failures := 0
	for {
		select {
		case <-l.waiter.stop:
			return
		case <-l.arm:
		}
		for l.waiter.isWaiting() && !l.waiter.stopped() {
			err := l.pop(ctx)
			if err == nil {
				failures = 0
				continue
			}
			failures++
			l.log.Debug("cannot pop wake-ups", "error", err)
			pause(l.waiter.stop, backoff(failures))
		}
	}
}

// pop first takes all tokens that lie about: nobody blocks on a list that holds any, so one round of looks answers them
// all. Then it blocks for the next one.
func (l *listener) pop(ctx context.Context) error {
	found, err := l.sweep(ctx)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		l.deliver(ctx, found)
		return nil
	}
	reply, err := l.rdb.BLPop(ctx, popTimeout, l.lists...).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil
	case err != nil:
		return err
	}
	if reply[0] != l.lists[len(l.lists)-1] { // not the bell
		l.deliver(ctx, []string{strings.TrimPrefix(reply[0], tokenKey(l.prefix, ""))})
	}
	return nil
}

func (l *listener) sweep(ctx context.Context) ([]string, error) {
	pipe := l.rdb.Pipeline()
	replies := make([]*redis.IntCmd, len(l.queues))
	for i := range l.queues {
		replies[i] = pipe.Unlink(ctx, l.lists[i])
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	var found []string
	for i, reply := range replies {
		if reply.Val() > 0 {
			found = append(found, l.queues[i])
		}
	}
	return found, nil
}

func (l *listener) deliver(ctx context.Context, queues []string) {
	for _, queue := range queues {
		if !l.waiter.wake(queue) {
			l.pass(ctx, queue)
		}
	}
}

// pass hands a wake-up to another worker. Failing is harmless: that worker looks for itself within a second.
func (l *listener) pass(ctx context.Context, queue string) {
	pipe := l.rdb.Pipeline()
	pushTokens(ctx, pipe, l.prefix, queue, 1)
	if _, err := pipe.Exec(ctx); err != nil {
		l.log.Debug("cannot hand on a wake-up", "queue", queue, "error", err)
	}
}

// close releases a pop that blocks and waits a moment for run to return. waiter.stop is closed.
func (l *listener) close(ctx context.Context) {
	l.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		bell := l.lists[len(l.lists)-1]
		pipe := l.rdb.Pipeline()
		pipe.LPush(ctx, bell, "1")
		pipe.PExpire(ctx, bell, tokenTTL)
		if _, err := pipe.Exec(ctx); err != nil {
			l.log.Debug("cannot release the pop of wake-ups; it ends by itself", "error", err)
		}
		select {
		case <-l.done:
		case <-ctx.Done():
		}
	})
}

// backoff is the pause before try number failures+1: 50 to 500 ms, jittered.
func backoff(failures int) time.Duration {
	const least, most = 50 * time.Millisecond, 500 * time.Millisecond
	limit := min(least<<min(failures, 4), most)
	return least + rand.N(limit-least+1)
}

// pause waits for d, or until stop is closed.
func pause(stop <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	}
}
