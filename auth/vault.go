package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// kind is what records stand for.
type kind struct {
	name    string
	longest time.Duration // that one lasts
	most    int           // of one owner
}

// vault keeps grants for a while, each under the hash of its secret.
type vault interface {
	// put stores the grant and gives the instant of its end, of the vault's clock. Of one owner's it keeps the latest
	// kind.most: an older one is as if it had ended. The bound is soft: grants of the same moment may pass it.
	put(ctx context.Context, of kind, hash string, granted grant, ttl time.Duration) (endsAtMs int64, err error)
	// get reads a grant; errUnknown when there is none.
	get(ctx context.Context, of kind, hash string) (grant, error)
	// end deletes a grant, and is content when there is none.
	end(ctx context.Context, of kind, hash string) error
}

// redisVault is what every replica sees. A record is a string with a time to live; a zset lists an owner's by when they were
// made, in microseconds of the replica that made them.
type redisVault struct {
	rdb    redis.UniversalClient
	prefix string
}

func (v redisVault) name(of kind, hash string) string { return v.prefix + ":" + of.name + ":" + hash }

func (v redisVault) list(of kind, granted grant) string {
	return v.prefix + ":" + of.name + "s:" + hashOf(granted.owner())
}

func (v redisVault) put(ctx context.Context, of kind, hash string, granted grant, ttl time.Duration) (int64, error) {
	text, err := json.Marshal(granted)
	if err != nil {
		return 0, fmt.Errorf("store a %s: %w", of.name, err)
	}
	var clock *redis.TimeCmd
	var older *redis.StringSliceCmd
	list, now := v.list(of, granted), time.Now()
	_, err = v.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		clock = pipe.Time(ctx) // first: the record lasts at least as long as is said
		pipe.Set(ctx, v.name(of, hash), text, ttl)
		pipe.ZRemRangeByScore(ctx, list, "-inf", strconv.FormatInt(now.Add(-of.longest).UnixMicro(), 10))
		pipe.ZAdd(ctx, list, redis.Z{Score: float64(now.UnixMicro()), Member: hash})
		older = pipe.ZRange(ctx, list, 0, int64(-of.most-1))
		pipe.Expire(ctx, list, of.longest)
		return nil
	})
	if err == nil {
		err = v.drop(ctx, of, list, older.Val())
	}
	if err != nil {
		return 0, fmt.Errorf("store a %s: %w", of.name, err)
	}
	return clock.Val().Add(ttl).UnixMilli(), nil
}

// drop deletes records of a list.
func (v redisVault) drop(ctx context.Context, of kind, list string, hashes []string) error {
	if len(hashes) == 0 {
		return nil
	}
	_, err := v.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, hash := range hashes {
			pipe.Del(ctx, v.name(of, hash))
			pipe.ZRem(ctx, list, hash) // behind it: what is cut off here is dropped with the next one
		}
		return nil
	})
	return err
}

func (v redisVault) get(ctx context.Context, of kind, hash string) (granted grant, err error) {
	text, err := v.rdb.Get(ctx, v.name(of, hash)).Bytes()
	if errors.Is(err, redis.Nil) {
		return granted, errUnknown
	}
	if err == nil {
		err = json.Unmarshal(text, &granted)
	}
	if err != nil {
		return granted, fmt.Errorf("read a %s: %w", of.name, err)
	}
	return granted, nil
}

func (v redisVault) end(ctx context.Context, of kind, hash string) error {
	granted, err := v.get(ctx, of, hash)
	if errors.Is(err, errUnknown) {
		return nil
	}
	if err == nil {
		err = v.drop(ctx, of, v.list(of, granted), []string{hash})
	}
	if err != nil {
		return fmt.Errorf("end a %s: %w", of.name, err)
	}
	return nil
}

// memoryVault is what this process alone sees.
type memoryVault struct {
	mu      sync.Mutex
	records map[string]memoryRecord // guarded by mu
}

type memoryRecord struct {
	grant      grant
	made, ends time.Time
}

func (v *memoryVault) put(_ context.Context, of kind, hash string, granted grant, ttl time.Duration) (int64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	oldest, count := "", 0
	for name, kept := range v.records {
		if !now.Before(kept.ends) {
			delete(v.records, name)
			continue
		}
		if !strings.HasPrefix(name, of.name+":") || kept.grant.owner() != granted.owner() {
			continue
		}
		if count++; oldest == "" || kept.made.Before(v.records[oldest].made) {
			oldest = name
		}
	}
	if count >= of.most {
		delete(v.records, oldest)
	}
	v.records[of.name+":"+hash] = memoryRecord{grant: granted, made: now, ends: now.Add(ttl)}
	return now.Add(ttl).UnixMilli(), nil
}

func (v *memoryVault) get(_ context.Context, of kind, hash string) (grant, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	kept, is := v.records[of.name+":"+hash]
	if !is || !time.Now().Before(kept.ends) {
		return grant{}, errUnknown
	}
	return kept.grant, nil
}

func (v *memoryVault) end(_ context.Context, of kind, hash string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.records, of.name+":"+hash)
	return nil
}
