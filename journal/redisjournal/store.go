package redisjournal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/gather"
	"github.com/pawl-run/pawl/journal"
)

// Config configures a Store. The zero value works.
type Config struct {
	journal.Config
	// Prefix begins every key and channel; 1 to 64 characters of [A-Za-z0-9._-]. Default "pawl".
	Prefix string
	// Logger receives what the feed has to say about its connection. Default slog.Default().
	Logger *slog.Logger
}

var validPrefix = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func (c Config) withDefaults() (Config, error) {
	base, err := c.WithDefaults()
	if err != nil {
		return c, err
	}
	c.Config = base
	if c.Prefix == "" {
		c.Prefix = "pawl"
	}
	if !validPrefix.MatchString(c.Prefix) {
		return c, fmt.Errorf("redisjournal: Prefix must be 1 to 64 characters of A-Z a-z 0-9 . _ -, is %q", c.Prefix)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// Store is a journal.Store on Redis. It is safe for concurrent use. Close it to end its subscriptions.
type Store struct {
	rdb     redis.UniversalClient
	cfg     Config
	keys    keyspace
	scripts scripts
	memory  *memoryGuard
	feed    *feed
	group   *gather.Group // nil in a Cluster
}

// New makes a Store. It sends nothing to Redis. The caller keeps the client and closes it after the Store.
func New(rdb redis.UniversalClient, cfg Config) (*Store, error) {
	if rdb == nil {
		return nil, errors.New("redisjournal: a Redis client is required")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	constants, err := prelude(cfg)
	if err != nil {
		return nil, err
	}
	keys := keyspace{prefix: cfg.Prefix}
	return &Store{
		rdb: rdb, cfg: cfg, keys: keys, scripts: loadScripts(constants),
		memory: newMemoryGuard(rdb), feed: newFeed(rdb, keys, cfg.Logger), group: gather.New(rdb),
	}, nil
}

// Gather is what the calls of the store travel through, so that others may travel with them; nil in a Cluster.
func (s *Store) Gather() *gather.Group { return s.group }

// Close ends the feed's connection. Subscriptions that are still open get no more signals.
func (s *Store) Close() error { return s.feed.close() }

var _ journal.Store = (*Store)(nil)

// now is the clock override that every script takes as its last argument; empty means the clock of Redis.
func (s *Store) now() string {
	if s.cfg.Now == nil {
		return ""
	}
	return strconv.FormatInt(s.cfg.Now().UnixMilli(), 10)
}

// run runs a script over an execution's keys. The common tail follows the arguments. The reply is a list or a text.
func (s *Store) run(ctx context.Context, script *script, id execution.ID, args ...any) (any, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return s.runKeys(ctx, script, s.keys.first(id, script.keys), args...)
}

func (s *Store) runKeys(ctx context.Context, script *script, keys []string, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // go-redis may still write on a context that has ended
	}
	args = append(args, s.now())
	if s.group == nil {
		return script.Run(ctx, s.rdb, keys, args...).Result()
	}
	cmd := script.command(ctx, keys, args)
	if err := s.group.Do(ctx, cmd); err != nil {
		return nil, err
	}
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		return script.Eval(ctx, s.rdb, keys, args...).Result()
	}
	return cmd.Result()
}

// Send sends commands in one round trip, perhaps together with those of others; none of the store's own in between. An error
// is that ctx ended: the commands must not be looked at then. It needs a client of one server.
func (s *Store) Send(ctx context.Context, cmds ...redis.Cmder) error { return s.group.Do(ctx, cmds...) }
