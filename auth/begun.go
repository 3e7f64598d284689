package auth

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// LoginTTL is how long a login on the issuer's page may take.
const LoginTTL = 10 * time.Minute

// maxBegun bounds how many begun logins are remembered: anybody may begin one, and nobody may fill Redis with them. Above it
// the oldest are forgotten.
const maxBegun = 100_000

// begunLogins remembers the logins that were begun, by the hash of their secret, in one sorted set: hash -> ms of its end.
// Every replica sees it, and each login is taken once. Its clock is Redis's.
type begunLogins struct {
	rdb  redis.UniversalClient
	name string
}

// put remembers a login for LoginTTL.
func (b begunLogins) put(ctx context.Context, secret string) error {
	now, err := b.rdb.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("begin a login: %w", err)
	}
	_, err = b.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.ZRemRangeByScore(ctx, b.name, "-inf", strconv.FormatInt(now.UnixMilli(), 10))
		pipe.ZAdd(ctx, b.name, redis.Z{Score: float64(now.Add(LoginTTL).UnixMilli()), Member: hashOf(secret)})
		pipe.ZRemRangeByRank(ctx, b.name, 0, -maxBegun-1)
		pipe.PExpire(ctx, b.name, LoginTTL)
		return nil
	})
	if err != nil {
		return fmt.Errorf("begin a login: %w", err)
	}
	return nil
}

// take forgets a login. errUnknown: it was not begun here, or it was taken before. errExpired: it took too long. When the
// outcome is unknown the login must be begun again.
func (b begunLogins) take(ctx context.Context, secret string) error {
	var clock *redis.TimeCmd
	var ends *redis.FloatSliceCmd
	var taken *redis.IntCmd
	hash := hashOf(secret)
	_, err := b.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		clock, ends, taken = pipe.Time(ctx), pipe.ZMScore(ctx, b.name, hash), pipe.ZRem(ctx, b.name, hash)
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("take a login: %w", err)
	case taken.Val() == 0: // of two that take it at once, one
		return errUnknown
	case clock.Val().UnixMilli() >= int64(ends.Val()[0]):
		return errExpired
	default:
		return nil
	}
}
