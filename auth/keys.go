package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

const (
	// defaultPrefix begins every key in Redis.
	defaultPrefix = "pawl"
	// defaultCacheTTL is how long a process trusts what it has read of a key: the bound of a revocation.
	defaultCacheTTL = 2 * time.Second
	// maxCached bounds how many keys a process remembers.
	maxCached = 10_000
	// keysAtOnce is about how many fields one round trip of List brings.
	keysAtOnce = 500
)

// revokedMark ends the field that says when a key was revoked.
const revokedMark = ":revoked"

// KeysConfig configures Keys.
type KeysConfig struct {
	// Prefix begins the names in Redis. Default "pawl".
	Prefix string
	// CacheTTL is how long what was read of a key is trusted. Default 2s.
	CacheTTL time.Duration
}

func (c KeysConfig) withDefaults() (KeysConfig, error) {
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	if !regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`).MatchString(c.Prefix) {
		return c, fmt.Errorf("auth: Prefix: want 1 to 64 of A-Z a-z 0-9 . _ -, have %q", c.Prefix)
	}
	if c.CacheTTL == 0 {
		c.CacheTTL = defaultCacheTTL
	}
	if c.CacheTTL < 0 {
		return c, fmt.Errorf("auth: CacheTTL must be positive, is %v", c.CacheTTL)
	}
	return c, nil
}

// Keys keeps API keys in one hash: <id> -> what is known of the key, in JSON, and <id>:revoked -> ms. Its clock is Redis's.
// It is safe for concurrent use.
type Keys struct {
	rdb  redis.UniversalClient
	cfg  KeysConfig
	name string

	mu     sync.Mutex
	cached map[string]cachedKey // guarded by mu
}

type cachedKey struct {
	storedKey
	until time.Time
}

// storedKey is a key in Redis.
type storedKey struct {
	Version int `json:"v"`
	Key
	Hash string `json:"hash"` // of the secret
}

// NewKeys makes Keys over the caller's client. The error names the field that is wrong.
func NewKeys(rdb redis.UniversalClient, cfg KeysConfig) (*Keys, error) {
	if rdb == nil {
		return nil, errors.New("auth: a Redis client is required")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Keys{rdb: rdb, cfg: cfg, name: cfg.Prefix + ":keys", cached: make(map[string]cachedKey)}, nil
}

// Create makes a key and gives its text, which nobody can find out again. When the outcome is unknown, create another one:
// one that nobody has the secret of opens nothing. ErrInvalidKey.
func (k *Keys) Create(ctx context.Context, asked NewKey) (key Key, text string, err error) {
	if err := asked.check(); err != nil {
		return Key{}, "", err
	}
	now, err := k.rdb.Time(ctx).Result()
	if err != nil {
		return Key{}, "", fmt.Errorf("create a key: %w", err)
	}
	key = Key{
		ID: newKeyID(), Tenant: asked.Tenant, Subject: asked.Subject, Role: asked.Role, Note: asked.Note,
		CreatedAtMs: now.UnixMilli(),
	}
	if asked.Expires > 0 {
		key.ExpiresAtMs = now.Add(asked.Expires).UnixMilli()
	}
	secret := newSecret()
	stored, err := json.Marshal(storedKey{Version: 1, Key: key, Hash: hashOf(secret)})
	if err != nil {
		return Key{}, "", fmt.Errorf("create a key: %w", err)
	}
	if err := k.rdb.HSetNX(ctx, k.name, key.ID, stored).Err(); err != nil {
		return Key{}, "", fmt.Errorf("create a key: %w", err)
	}
	return key, keyText(key.ID, secret), nil
}

// List gives all keys, also those that are good no longer, the oldest first.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	keys, revoked := []Key{}, map[string]int64{}
	scan := k.rdb.HScan(ctx, k.name, 0, "", keysAtOnce).Iterator()
	seen := map[string]bool{}
	for scan.Next(ctx) {
		field := scan.Val()
		if !scan.Next(ctx) {
			break
		}
		if id, is := strings.CutSuffix(field, revokedMark); is {
			revoked[id], _ = strconv.ParseInt(scan.Val(), 10, 64)
			continue
		}
		var stored storedKey
		if err := json.Unmarshal([]byte(scan.Val()), &stored); err != nil {
			return nil, fmt.Errorf("key %s: %w", field, err)
		}
		if !seen[field] { // a scan may give a field twice
			seen[field] = true
			keys = append(keys, stored.Key)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	for i := range keys {
		keys[i].RevokedAtMs = revoked[keys[i].ID]
	}
	slices.SortFunc(keys, func(a, b Key) int {
		if a.CreatedAtMs != b.CreatedAtMs {
			return int(a.CreatedAtMs - b.CreatedAtMs)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return keys, nil
}

// Revoke makes a key good for nothing. On a revoked one it changes nothing. ErrNoKey.
func (k *Keys) Revoke(ctx context.Context, id string) (key Key, changed bool, err error) {
	if _, err := k.read(ctx, id); err != nil {
		return Key{}, false, err
	}
	now, err := k.rdb.Time(ctx).Result()
	if err != nil {
		return Key{}, false, fmt.Errorf("revoke %s: %w", id, err)
	}
	changed, err = k.rdb.HSetNX(ctx, k.name, id+revokedMark, now.UnixMilli()).Result()
	if err != nil {
		return Key{}, false, fmt.Errorf("revoke %s: %w", id, err)
	}
	k.mu.Lock()
	delete(k.cached, id)
	k.mu.Unlock()
	stored, err := k.read(ctx, id)
	return stored.Key, changed, err
}

// Any reports whether there is a key at all.
func (k *Keys) Any(ctx context.Context) (bool, error) {
	n, err := k.rdb.HLen(ctx, k.name).Result()
	if err != nil {
		return false, fmt.Errorf("count keys: %w", err)
	}
	return n > 0, nil
}

// read is a key as it is now in Redis, and Redis's clock. ErrNoKey.
func (k *Keys) read(ctx context.Context, id string) (key readKey, err error) {
	var fields *redis.SliceCmd
	var clock *redis.TimeCmd
	_, err = k.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		fields, clock = pipe.HMGet(ctx, k.name, id, id+revokedMark), pipe.Time(ctx)
		return nil
	})
	if err != nil {
		return key, fmt.Errorf("key %s: %w", id, err)
	}
	values := fields.Val()
	text, there := values[0].(string)
	if !there || strings.HasSuffix(id, revokedMark) {
		return key, fmt.Errorf("key %s: %w", id, ErrNoKey)
	}
	if err := json.Unmarshal([]byte(text), &key.storedKey); err != nil {
		return key, fmt.Errorf("key %s: %w", id, err)
	}
	if revoked, is := values[1].(string); is {
		if key.RevokedAtMs, err = strconv.ParseInt(revoked, 10, 64); err != nil {
			return key, fmt.Errorf("key %s: %w", id, err)
		}
	}
	key.now = clock.Val()
	return key, nil
}

type readKey struct {
	storedKey
	now time.Time
}

// good finds a key that is good, of the cache where it may. errRefused says why another one is not.
func (k *Keys) good(ctx context.Context, id string) (storedKey, error) {
	now := time.Now()
	k.mu.Lock()
	cached, is := k.cached[id]
	k.mu.Unlock()
	if is && now.Before(cached.until) {
		return cached.storedKey, nil
	}
	key, err := k.read(ctx, id)
	switch {
	case errors.Is(err, ErrNoKey):
		return storedKey{}, errUnknown
	case err != nil:
		return storedKey{}, err
	case key.RevokedAtMs != 0:
		return storedKey{}, errRevoked
	}
	trust := k.cfg.CacheTTL
	if key.ExpiresAtMs != 0 {
		trust = min(trust, time.UnixMilli(key.ExpiresAtMs).Sub(key.now))
	}
	if trust <= 0 {
		return storedKey{}, errExpired
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.cached) >= maxCached {
		clear(k.cached)
	}
	k.cached[id] = cachedKey{storedKey: key.storedKey, until: now.Add(trust)}
	return key.storedKey, nil
}

// errRefused is the class of what makes a credential no good.
var (
	errRefused = errors.New("refused")
	errUnknown = fmt.Errorf("%w: it is not known", errRefused)
	errRevoked = fmt.Errorf("%w: it was revoked", errRefused)
	errExpired = fmt.Errorf("%w: it has expired", errRefused)
)

// visit is the visit of whoever shows the key.
func (k *Keys) visit(ctx context.Context, text string) (*Visit, error) {
	id, secret, ok := parseKey(text)
	if !ok {
		return nil, errUnknown
	}
	key, err := k.good(ctx, id)
	if err != nil {
		return nil, err
	}
	if !equal(hashOf(secret), key.Hash) {
		return nil, errUnknown
	}
	return &Visit{Authority: key.Authority(), Key: key.ID, keys: k}, nil
}

// check asks again whether a key is good.
func (k *Keys) check(ctx context.Context, id string, authority execution.Authority) error {
	key, err := k.good(ctx, id)
	if err == nil && key.Authority() != authority {
		return errUnknown
	}
	return err
}
