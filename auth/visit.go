package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Visit is who sent a request, found out by what was shown with it.
type Visit struct {
	// Authority is what the caller may do.
	Authority execution.Authority
	// Key is the id of the API key that was shown, or that a session or a stream token was made with; empty: none was.
	Key string
	// Until is when the credential ends by itself. Zero: no such instant is known; Check finds out.
	Until time.Time

	keys    *Keys        // set with Key
	session *openSession // that the request belongs to; nil: none
	local   bool
}

// Local is the visit of everybody on an installation without keys.
func Local() *Visit { return &Visit{Authority: execution.LocalAuthority(), local: true} }

// Keyless reports whether the installation has no keys, and everybody is its operator.
func (v *Visit) Keyless() bool { return v.local }

// Ends reports whether the credential can become bad, so that Check is worth the while.
func (v *Visit) Ends() bool { return !v.Until.IsZero() || v.keys != nil || v.session != nil }

// Oversees reports whether the caller may look at what is nobody's alone: the queues, the metrics. It takes a caller of all
// tenants, or an installation without keys.
func (v *Visit) Oversees() bool {
	return v.local || v.Authority.Caller.Tenant == execution.AllTenants &&
		(v.Authority.Role == execution.ReadRole || v.Authority.Role == execution.OperateRole)
}

// Tends reports whether the caller may change what is nobody's alone. It takes a caller of all tenants of role operate.
func (v *Visit) Tends() bool {
	return v.Authority.Caller.Tenant == execution.AllTenants && v.Authority.Role == execution.OperateRole
}

// Check is nil as long as the credential is good: whoever keeps a request open asks it again and again, as often as it
// likes. ErrUnauthenticated: it is good no longer. Any other error says nothing of it.
func (v *Visit) Check(ctx context.Context) error {
	if err := v.check(ctx); err != nil {
		return problem(ctx, err)
	}
	return nil
}

func (v *Visit) check(ctx context.Context) error {
	if !v.Until.IsZero() && !time.Now().Before(v.Until) {
		return errExpired
	}
	if v.keys != nil {
		if err := v.keys.check(ctx, v.Key, v.Authority); err != nil {
			return err
		}
	}
	if v.session != nil {
		return v.session.check(ctx)
	}
	return nil
}

// problem is the caller's error: what is refused is unauthenticated, without a word why, and what could not be found out
// is unavailable.
func problem(ctx context.Context, err error) error {
	var api *execution.APIError
	switch {
	case errors.As(err, &api):
		return err
	case errors.Is(err, errRefused):
		return execution.NewAPIError(execution.Unauthenticated, "the credential is not known, has expired or was revoked").
			In(header).Because(err)
	case ctx.Err() != nil:
		return fmt.Errorf("authenticate: %w", ctx.Err())
	default:
		return execution.NewAPIError(execution.Unavailable, "the caller cannot be looked up now").
			After(time.Second).Because(err)
	}
}

type visitKey struct{}

// With is a context that carries the visit.
func With(ctx context.Context, visit *Visit) context.Context {
	return context.WithValue(ctx, visitKey{}, visit)
}

// From is the visit that the context carries; one that may do nothing when it carries none.
func From(ctx context.Context) *Visit {
	if visit, is := ctx.Value(visitKey{}).(*Visit); is {
		return visit
	}
	return &Visit{}
}
