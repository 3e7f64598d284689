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
	Session   string               `json:"session,omitempty"`   // of a stream token: the hash of the session that it was made with
	Keyless   bool                 `json:"keyless,omitempty"`   // it was made where nobody is asked for a key
}

func grantOf(visit *Visit) grant {
	g := grant{
		Version: 1, Tenant: visit.Authority.Caller.Tenant, Subject: visit.Authority.Caller.Subject,
		Role: visit.Authority.Role, Key: visit.Key, Keyless: visit.local,
	}
	if visit.session != nil {
		g.Session = visit.session.hash
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

// visit is the visit of whoever shows the grant. It is checked, but for the session that the grant may belong to.
func (g grant) visit(ctx context.Context, keys *Keys) (*Visit, error) {
	if g.Keyless && keys != nil { // nobody is the operator any more by being on this machine
		return nil, errUnknown
	}
	visit := &Visit{
		Authority: execution.Authority{
			Caller: execution.CallerScope{Tenant: g.Tenant, Subject: g.Subject}, Role: g.Role,
		},
		Key: g.Key,
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
	return visit, visit.check(ctx)
}

// lasts is how long a grant of the visit may last: no longer than the visit itself.
func lasts(visit *Visit, longest time.Duration) time.Duration {
	if visit.Until.IsZero() {
		return longest
	}
	return min(longest, time.Until(visit.Until))
}
