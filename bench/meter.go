package bench

import (
	"context"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// meter counts what a client sends. It is a go-redis hook. A pipeline is one round trip.
type meter struct {
	trips, commands, bytes atomic.Int64

	detailed bool // immutable: count by label, too
	mu       sync.Mutex
	labels   map[string]*Count // guarded by mu
	scripts  map[string]string // digest → label; guarded by mu
}

// Count is what was sent under one label.
type Count struct {
	Trips    int64 `json:"trips"`
	Commands int64 `json:"commands"`
	Bytes    int64 `json:"bytes"` // of the arguments
	Nanos    int64 `json:"nanos"` // from sending to the answer
}

func newMeter(detailed bool) *meter {
	return &meter{detailed: detailed, labels: map[string]*Count{}, scripts: map[string]string{}}
}

type labelKey struct{}

// tag names what calls are for and adds up what they send and take. One goroutine uses it.
type tag struct {
	name  string
	bytes int64 // of the arguments, less those of the queue that travel along
	took  time.Duration
}

// label names what the calls under ctx are for.
func (m *meter) label(ctx context.Context, name string) context.Context {
	if !m.detailed {
		return ctx
	}
	return withTag(ctx, &tag{name: name})
}

func withTag(ctx context.Context, t *tag) context.Context {
	return context.WithValue(ctx, labelKey{}, t)
}

// DialHook implements redis.Hook.
func (m *meter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (m *meter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		m.note(ctx, began, cmd)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (m *meter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmds)
		m.note(ctx, began, cmds...)
		return err
	}
}

func (m *meter) note(ctx context.Context, began time.Time, cmds ...redis.Cmder) {
	m.trips.Add(1)
	m.commands.Add(int64(len(cmds)))
	if !m.detailed || len(cmds) == 0 {
		return
	}
	took := time.Since(began)
	t, ok := ctx.Value(labelKey{}).(*tag)
	if !ok {
		t = &tag{name: nameOf(cmds)}
	}
	name := t.name
	t.took += took
	var size int64
	for _, cmd := range cmds {
		n := sizeOf(cmd)
		size += n
		if !ofQueue(cmd) {
			t.bytes += n
		}
	}
	m.bytes.Add(size)
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.labels[name]
	if c == nil {
		c = &Count{}
		m.labels[name] = c
	}
	c.Trips++
	c.Commands += int64(len(cmds))
	c.Bytes += size
	c.Nanos += took.Nanoseconds()
	for _, cmd := range cmds {
		if args := cmd.Args(); cmd.Name() == "evalsha" && len(args) > 1 {
			digest, _ := args[1].(string)
			m.scripts[digest] = name
		}
	}
}

// scriptNames says what each script was called for, by its digest.
func (m *meter) scriptNames() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.scripts)
}

// byLabel is a copy of the counts.
func (m *meter) byLabel() map[string]Count {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]Count, len(m.labels))
	for name, c := range m.labels {
		out[name] = *c
	}
	return out
}

// nameOf names calls that nobody labeled: Asynq's scripts by their first key, anything else by its command.
func nameOf(cmds []redis.Cmder) string {
	name := cmds[0].Name()
	args := cmds[0].Args()
	if (name != "evalsha" && name != "eval") || len(args) < 4 {
		if len(cmds) > 1 {
			return "pipeline of " + name
		}
		return name
	}
	key, _ := args[3].(string)
	_, tail, _ := strings.Cut(key, "}:")
	switch {
	case tail == "pending":
		return "asynq dequeue"
	case tail == "active":
		return "asynq done"
	case strings.HasPrefix(tail, "t:"):
		return "asynq task"
	case tail == "scheduled", tail == "retry":
		return "asynq forward"
	default:
		return "script on " + tail
	}
}

// ofQueue is whether a command enqueues or wakes.
func ofQueue(cmd redis.Cmder) bool {
	args := cmd.Args()
	if len(args) < 4 || (cmd.Name() != "evalsha" && cmd.Name() != "eval") {
		return true
	}
	key, _ := args[3].(string)
	return strings.HasPrefix(key, "asynq:")
}

func sizeOf(cmd redis.Cmder) int64 {
	var size int
	for _, arg := range cmd.Args() {
		switch v := arg.(type) {
		case string:
			size += len(v)
		case []byte:
			size += len(v)
		default:
			size += 8
		}
	}
	return int64(size)
}
