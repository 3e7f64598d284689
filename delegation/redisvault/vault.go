// Package redisvault keeps the sealed records of leases in the Redis that the journal is in.
package redisvault

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
)

// recordAge is how long a record that nobody changes is kept: longer than an execution takes. A record is deleted when its
// lease is revoked.
const recordAge = 90 * 24 * time.Hour

// Vault keeps records as strings `<prefix>:{pNN}:lease:<execution id>`, in the partition of the execution. One that begins with a
// zero byte is the mark of a record that was forgotten, and goes on with the birth of the execution that it was forgotten for: it
// holds the place, so that it takes one key to decide, and runs out by itself. An empty one is a mark too, of an earlier release
// and for executions of whatever birth.
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

// marked reports whether what is stored is a mark that holds for executions of this birth.
func marked(stored []byte, born int64) (mark, holds bool) {
	if len(stored) == 0 {
		return true, true
	}
	if stored[0] != 0 {
		return false, false
	}
	of, err := strconv.ParseInt(string(stored[1:]), 10, 64)
	return true, err != nil || of >= born
}

// Load implements delegation.Vault.
func (v *Vault) Load(ctx context.Context, id execution.ID, born int64) ([]byte, error) {
	record, err := v.rdb.Get(ctx, v.key(id)).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("load the lease of %s: %w", id, err)
	}
	switch mark, holds := marked(record, born); {
	case holds:
		return nil, forgotten(id)
	case mark:
		return nil, nil
	}
	return record, nil
}

func forgotten(id execution.ID) error {
	return fmt.Errorf("%w: the lease of %s was revoked", delegation.ErrLost, id)
}

// create stores ARGV[1] for ARGV[2] ms unless something is there, and returns what is there then. The mark of an execution that was
// born before ARGV[3] is nothing.
var create = redis.NewScript(`
local found = redis.call('GET', KEYS[1])
if found and not (string.byte(found) == 0 and tonumber(string.sub(found, 2)) < tonumber(ARGV[3])) then return found end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`)

// Create implements delegation.Vault.
func (v *Vault) Create(ctx context.Context, id execution.ID, born int64, record []byte) ([]byte, error) {
	if mark, _ := marked(record, born); mark {
		return nil, fmt.Errorf("store the lease of %s: the record is empty, or begins as a mark does", id)
	}
	stored, err := create.Run(ctx, v.rdb, []string{v.key(id)}, record, recordAge.Milliseconds(), born).Text()
	if err != nil {
		return nil, fmt.Errorf("store the lease of %s: %w", id, err)
	}
	if mark, _ := marked([]byte(stored), born); mark {
		return nil, forgotten(id)
	}
	return []byte(stored), nil
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

// forget puts the mark of ARGV[3], a birth, for ARGV[2] ms where ARGV[1] or nothing is, and returns what else is there. A mark that
// holds for more executions stays as it is. The deletion comes first because it is taken also when memory is full, and what
// follows it then is as well.
var forget = redis.NewScript(`
local found = redis.call('GET', KEYS[1])
local mark = '\0' .. ARGV[3]
if found == '' then
  mark = ''
elseif found and string.byte(found) == 0 then
  if tonumber(string.sub(found, 2)) > tonumber(ARGV[3]) then mark = found end
elseif found and found ~= ARGV[1] then
  return found
end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], mark, 'PX', ARGV[2])
return ''`)

// Forget implements delegation.Vault.
func (v *Vault) Forget(ctx context.Context, id execution.ID, born int64, was []byte, refuse time.Duration) ([]byte, error) {
	left, err := forget.Run(ctx, v.rdb, []string{v.key(id)}, was, refuse.Milliseconds(), born).Text()
	if err != nil {
		return nil, fmt.Errorf("forget the lease of %s: %w", id, err)
	}
	if left == "" {
		return nil, nil
	}
	return []byte(left), nil
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
