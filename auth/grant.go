package auth

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// grant is what a session and a stream token stand for: the authority of whoever made it, for as long as that one's own
// credential is good.
type grant struct {
	Version   int                  `json:"v"`
	Tenant    string               `json:"tenant"`
	Subject   string               `json:"subject"`
	Role      execution.CallerRole `json:"role"`
	Key       string               `json:"key,omitempty"`
	UntilMs   int64                `json:"untilMs,omitempty"`
	Execution execution.ID         `json:"execution,omitempty"` // of a stream token
}

func grantOf(visit *Visit) grant {
	g := grant{
		Version: 1, Tenant: visit.Authority.Caller.Tenant, Subject: visit.Authority.Caller.Subject,
		Role: visit.Authority.Role, Key: visit.Key,
	}
	if !visit.Until.IsZero() {
		g.UntilMs = visit.Until.UnixMilli()
	}
	return g
}

// owner is whose the grant is: the key's that was shown, or without one the caller's.
func (g grant) owner() string {
	if g.Key != "" {
		return "key " + g.Key
	}
	return "caller " + execution.CallerScope{Tenant: g.Tenant, Subject: g.Subject}.String()
}

// visit is the visit of whoever shows the grant. It is checked.
func (g grant) visit(ctx context.Context, keys *Keys, again func(context.Context) error) (*Visit, error) {
	visit := &Visit{
		Authority: execution.Authority{
			Caller: execution.CallerScope{Tenant: g.Tenant, Subject: g.Subject}, Role: g.Role,
		},
		Key: g.Key, again: again,
	}
	if g.UntilMs != 0 {
		visit.Until = time.UnixMilli(g.UntilMs)
	}
	if g.Key != "" {
		if keys == nil {
			return nil, errUnknown
		}
		visit.keys = keys
	}
	own := *visit
	own.again = nil // it was asked a moment ago
	return visit, own.check(ctx)
}

// lasts is how long a grant of the visit may last: no longer than the visit itself.
func lasts(visit *Visit, longest time.Duration) time.Duration {
	if visit.Until.IsZero() {
		return longest
	}
	return min(longest, time.Until(visit.Until))
}
