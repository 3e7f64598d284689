package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// vault keeps records under the hash of a secret for a while.
type vault interface {
	// put stores the record and gives the instant of its end, of the vault's clock.
	put(ctx context.Context, kind, secret string, record any, ttl time.Duration) (endsAtMs int64, err error)
	// get reads a record; errUnknown when there is none.
	get(ctx context.Context, kind, secret string, record any) error
	// end deletes a record, and is content when there is none.
	end(ctx context.Context, kind, secret string) error
}

// redisVault is what every replica sees. A record is a string with a time to live.
type redisVault struct {
	rdb    redis.UniversalClient
	prefix string
}

func (v redisVault) name(kind, secret string) string {
	return v.prefix + ":" + kind + ":" + hashOf(secret)
}

func (v redisVault) put(ctx context.Context, kind, secret string, record any, ttl time.Duration) (int64, error) {
	text, err := json.Marshal(record)
	if err != nil {
		return 0, fmt.Errorf("store a %s: %w", kind, err)
	}
	var clock *redis.TimeCmd
	_, err = v.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		clock = pipe.Time(ctx) // first: the record lasts at least as long as is said
		pipe.Set(ctx, v.name(kind, secret), text, ttl)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("store a %s: %w", kind, err)
	}
	return clock.Val().Add(ttl).UnixMilli(), nil
}

func (v redisVault) get(ctx context.Context, kind, secret string, record any) error {
	text, err := v.rdb.Get(ctx, v.name(kind, secret)).Bytes()
	if errors.Is(err, redis.Nil) {
		return errUnknown
	}
	if err == nil {
		err = json.Unmarshal(text, record)
	}
	if err != nil {
		return fmt.Errorf("read a %s: %w", kind, err)
	}
	return nil
}

func (v redisVault) end(ctx context.Context, kind, secret string) error {
	if err := v.rdb.Del(ctx, v.name(kind, secret)).Err(); err != nil {
		return fmt.Errorf("end a %s: %w", kind, err)
	}
	return nil
}

// memoryVault is what this process alone sees.
type memoryVault struct {
	mu      sync.Mutex
	records map[string]memoryRecord // guarded by mu
}

type memoryRecord struct {
	text []byte
	ends time.Time
}

func (v *memoryVault) put(_ context.Context, kind, secret string, record any, ttl time.Duration) (int64, error) {
	text, err := json.Marshal(record)
	if err != nil {
		return 0, fmt.Errorf("store a %s: %w", kind, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	for name, kept := range v.records {
		if !now.Before(kept.ends) {
			delete(v.records, name)
		}
	}
	v.records[kind+hashOf(secret)] = memoryRecord{text: text, ends: now.Add(ttl)}
	return now.Add(ttl).UnixMilli(), nil
}

func (v *memoryVault) get(_ context.Context, kind, secret string, record any) error {
	v.mu.Lock()
	kept, is := v.records[kind+hashOf(secret)]
	v.mu.Unlock()
	if !is || !time.Now().Before(kept.ends) {
		return errUnknown
	}
	return json.Unmarshal(kept.text, record)
}

func (v *memoryVault) end(_ context.Context, kind, secret string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.records, kind+hashOf(secret))
	return nil
}
