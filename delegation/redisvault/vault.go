// Package redisvault keeps the sealed records of leases in the Redis that the journal is in.
package redisvault

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
)

// recordAge is how long a record that nobody changes is kept: longer than an execution takes. A record is deleted when its
// lease is revoked.
const recordAge = 90 * 24 * time.Hour

// Vault keeps records as strings `<prefix>:{pNN}:lease:<execution id>`, in the partition of the execution.
type Vault struct {
	rdb    redis.UniversalClient
	prefix string
}

var _ delegation.Vault = (*Vault)(nil)

// New uses the client, which stays the caller's.
func New(rdb redis.UniversalClient, prefix string) *Vault {
	return &Vault{rdb: rdb, prefix: prefix}
}

func (v *Vault) key(id execution.ID) string {
	return v.prefix + ":{" + id.Partition().Tag() + "}:lease:" + string(id)
}

// Load implements delegation.Vault.
func (v *Vault) Load(ctx context.Context, id execution.ID) ([]byte, error) {
	record, err := v.rdb.Get(ctx, v.key(id)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the lease of %s: %w", id, err)
	}
	return record, nil
}

// Create implements delegation.Vault.
func (v *Vault) Create(ctx context.Context, id execution.ID, record []byte) ([]byte, error) {
	err := v.rdb.SetArgs(ctx, v.key(id), record, redis.SetArgs{Mode: "NX", TTL: recordAge, Get: true}).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("store the lease of %s: %w", id, err)
	}
	stored, err := v.Load(ctx, id)
	if err == nil && stored == nil {
		err = fmt.Errorf("store the lease of %s: it is gone at once", id)
	}
	return stored, err
}

// replace stores ARGV[2] in place of ARGV[1] for ARGV[3] ms.
var replace = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`)

// Replace implements delegation.Vault.
func (v *Vault) Replace(ctx context.Context, id execution.ID, was, next []byte) (bool, error) {
	n, err := replace.Run(ctx, v.rdb, []string{v.key(id)}, was, next, recordAge.Milliseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("replace the lease of %s: %w", id, err)
	}
	return n == 1, nil
}

// Delete implements delegation.Vault.
func (v *Vault) Delete(ctx context.Context, id execution.ID) error {
	if err := v.rdb.Del(ctx, v.key(id)).Err(); err != nil {
		return fmt.Errorf("delete the lease of %s: %w", id, err)
	}
	return nil
}

// unlock deletes a lock of one's own.
var unlock = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)

// unlockTimeout bounds the deletion of a lock, which runs out by itself.
const unlockTimeout = time.Second

// Lock implements delegation.Vault.
func (v *Vault) Lock(ctx context.Context, id execution.ID, longest time.Duration) (func(), bool, error) {
	key, own := v.key(id)+":lock", rand.Text()
	locked, err := v.rdb.SetNX(ctx, key, own, longest).Result()
	if err != nil {
		return nil, false, fmt.Errorf("lock the lease of %s: %w", id, err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		_ = unlock.Run(ctx, v.rdb, []string{key}, own).Err() // it runs out by itself
	}, locked, nil
}
