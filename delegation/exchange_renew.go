package delegation

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Renew implements Broker. One process at a time asks the server: many take it for theft when a refresh token is used twice.
func (e *Exchange) Renew(ctx context.Context, id execution.ID, ref Ref, refused execution.Credential) (Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*e.cfg.Timeout)
	defer cancel()
	for {
		found, _, err := e.of(ctx, id, ref)
		if err != nil {
			return Lease{}, err
		}
		if found.good(e.cfg.Now(), e.cfg.Ahead, refused) {
			return found.lease(), nil
		}
		unlock, locked, err := e.cfg.Vault.Lock(ctx, id, 2*e.cfg.Timeout)
		if err != nil {
			return Lease{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if locked {
			defer unlock()
			return e.renewLocked(ctx, id, ref, refused)
		}
		timer := time.NewTimer(lockPoll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return Lease{}, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

func (e *Exchange) renewLocked(ctx context.Context, id execution.ID, ref Ref, refused execution.Credential) (Lease, error) {
	found, sealed, err := e.of(ctx, id, ref)
	if err != nil {
		return Lease{}, err
	}
	now := e.cfg.Now()
	if found.good(now, e.cfg.Ahead, refused) { // by whoever had the lock before
		return found.lease(), nil
	}
	granted, err := e.again(ctx, *found)
	if err != nil {
		return Lease{}, err
	}
	next := found.take(e.cfg.Now(), granted)
	if found.fresh(now, e.cfg.Ahead) {
		next.RefusedAtMs = now.UnixMilli()
	}
	changed, err := e.sealed(id, next)
	if err != nil {
		return Lease{}, err
	}
	// The old refresh token may be used up by now: what the server gave is kept whatever becomes of the caller.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Timeout)
	defer cancel()
	replaced, err := e.cfg.Vault.Replace(ctx, id, sealed, changed)
	if err != nil {
		return Lease{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if !replaced { // revoked meanwhile
		e.giveBack(ctx, id, next)
		return Lease{}, fmt.Errorf("%w: %s was revoked meanwhile", ErrLost, id)
	}
	return next.lease(), nil
}

// again asks for new tokens with those that the lease has.
func (e *Exchange) again(ctx context.Context, r record) (tokens, error) {
	if r.RefreshToken != "" {
		return e.refresh(ctx, r)
	}
	if !r.fresh(e.cfg.Now(), 0) {
		return tokens{}, fmt.Errorf("%w: the token has run out, and the server gave none to renew it with", ErrLost)
	}
	granted, err := e.exchange(ctx, execution.NewCredential(r.AccessToken), AccessTokenType, r.Request)
	return granted, lost(err)
}
