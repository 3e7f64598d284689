package queue

import (
	"context"
	_ "embed" // for the script
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

const (
	presenceInterval = 5 * time.Second
	// presenceTTLs is for how many intervals a worker is there that is not heard of.
	presenceTTLs    = 3
	presenceTimeout = 2 * time.Second
	// presenceMemory is how long the list of workers names one that is not heard of; its own key is gone long before.
	presenceMemory = time.Hour
	// maxHolding is how many of the executions that a worker holds are named.
	maxHolding = 200
)

//go:embed lua/presence.lua
var presenceSource string

// PresenceConfig configures a Presence.
type PresenceConfig struct {
	// ID names the worker as its claims do. Required: 1 to 64 characters of [A-Za-z0-9._-].
	ID string
	// Host and PID say where the worker runs, for people who look for it. Empty and 0: it does not say.
	Host string
	PID  int
	// Queues are those that the worker serves; Concurrency is how many tasks it runs at once.
	Queues      []string
	Concurrency int
	// Holding lists the executions that the worker holds now. Nil: it holds none.
	Holding func() []execution.ID
	// Tally is what the worker has done. Nil: it does not say.
	Tally *Tally
	// Interval is how often the worker says that it is there; three missed ones and it is gone. Default 5 s.
	Interval time.Duration
	// Prefix begins the keys. Clients and workers of one installation share it. Default "pawl".
	Prefix string
	// Logger is slog.Default() by default.
	Logger *slog.Logger
}

// Presence says that a worker is there: in a key that lives as long as it goes on saying so. Nothing rests on it but what
// people are told.
type Presence struct {
	rdb    redis.UniversalClient
	cfg    PresenceConfig
	began  int64
	served atomic.Bool   // it takes tasks
	again  chan struct{} // holds at most one: say it now
}

// NewPresence makes a Presence on rdb, which it never closes. The error names the field that is wrong.
func NewPresence(rdb redis.UniversalClient, cfg PresenceConfig) (*Presence, error) {
	if rdb == nil {
		return nil, errors.New("queue: a Redis client is needed")
	}
	if err := checkName(cfg.ID); err != nil {
		return nil, fmt.Errorf("queue: config ID: %w", err)
	}
	if cfg.Interval == 0 {
		cfg.Interval = presenceInterval
	}
	if cfg.Interval < time.Millisecond {
		return nil, fmt.Errorf("queue: config Interval: %v is less than 1 ms", cfg.Interval)
	}
	if cfg.Holding == nil {
		cfg.Holding = func() []execution.ID { return nil }
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "pawl"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	p := &Presence{rdb: rdb, cfg: cfg, began: time.Now().UnixMilli(), again: make(chan struct{}, 1)}
	p.served.Store(true)
	return p, nil
}

// Run says that the worker is there until ctx ends, and then that it has gone. Redis may be away meanwhile.
func (p *Presence) Run(ctx context.Context) {
	defer p.leave(ctx)
	for {
		p.tell(ctx)
		timer := time.NewTimer(jitter(p.cfg.Interval))
		select {
		case <-ctx.Done():
		case <-p.again:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// Drain says from now on that the worker serves no queue. Repeating it is harmless.
func (p *Presence) Drain() {
	p.served.Store(false)
	select {
	case p.again <- struct{}{}:
	default:
	}
}

// storedWorker is a worker's own key. A name never changes its meaning.
type storedWorker struct {
	V           int      `json:"v"`
	StartedAtMs int64    `json:"startedAtMs"`
	Queues      []string `json:"queues"`
	Concurrency int      `json:"concurrency"`
	Held        int      `json:"held"`
	Draining    bool     `json:"draining,omitempty"`
	Host        string   `json:"host,omitempty"` // it and PID are not told by workers of older releases
	PID         int      `json:"pid,omitempty"`
	Work        *Work    `json:"work,omitempty"` // nil: it does not say, as workers of older releases
}

// tell writes the presence, in one round trip.
func (p *Presence) tell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, presenceTimeout)
	defer cancel()
	held := p.cfg.Holding()
	stored := storedWorker{
		V: 1, StartedAtMs: p.began, Queues: p.cfg.Queues, Concurrency: p.cfg.Concurrency, Held: len(held),
		Host: p.cfg.Host, PID: p.cfg.PID,
	}
	if p.cfg.Tally != nil {
		stored.Work = p.cfg.Tally.told(time.Now())
	}
	if !p.served.Load() {
		stored.Queues, stored.Draining = []string{}, true
	}
	data, err := json.Marshal(stored)
	if err != nil {
		panic(err) // unreachable: it holds texts and numbers
	}
	ttl := presenceTTLs * p.cfg.Interval
	pipe := p.rdb.Pipeline()
	pipe.Set(ctx, workerKey(p.cfg.Prefix, p.cfg.ID), data, ttl)
	pipe.Set(ctx, holdingKey(p.cfg.Prefix, p.cfg.ID), joinIDs(held), ttl)
	pipe.Eval(ctx, presenceSource, []string{workersKey(p.cfg.Prefix)}, p.cfg.ID, presenceMemory.Milliseconds())
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		p.cfg.Logger.DebugContext(ctx, "cannot say that this worker is there", "error", err)
	}
}

// leave says that the worker has gone. Failing is harmless: its key runs out.
func (p *Presence) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), presenceTimeout)
	defer cancel()
	pipe := p.rdb.Pipeline()
	pipe.Unlink(ctx, workerKey(p.cfg.Prefix, p.cfg.ID))
	pipe.Unlink(ctx, holdingKey(p.cfg.Prefix, p.cfg.ID))
	pipe.ZRem(ctx, workersKey(p.cfg.Prefix), p.cfg.ID)
	if _, err := pipe.Exec(ctx); err != nil {
		p.cfg.Logger.DebugContext(ctx, "cannot say that this worker has gone", "error", err)
	}
}

func joinIDs(ids []execution.ID) string {
	ids = slices.Sorted(slices.Values(ids))
	ids = ids[:min(len(ids), maxHolding)]
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return strings.Join(texts, "\n")
}
