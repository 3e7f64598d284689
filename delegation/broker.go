package delegation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Broker establishes, renews and revokes leases. Every method is idempotent by the execution's id, and may be used by many
// goroutines and processes at once.
type Broker interface {
	// Check says without asking anybody whether Establish would refuse: a *Refusal, or nil.
	Check(grant Grant) error
	// Establish makes the lease of an execution, or returns the one that it has. It returns ErrRefused when the caller may not
	// have it, ErrLost when it was revoked before, or while it was made, and ErrUnavailable when nobody knows whether it has
	// one now. What an earlier execution of the same id has left is revoked first.
	Establish(ctx context.Context, grant Grant) (Lease, error)
	// Renew makes the lease last longer and raises its revision. A lease that lasts for a while is returned as it is, unless
	// refused is its token: one that a service did not take, although it is not over. So many as come with the same one have it
	// renewed once; and for a minute after that a lease is returned as it is, so that a service that takes nothing costs the
	// server little. It returns ErrLost when the lease is over or gone, and ErrUnavailable.
	Renew(ctx context.Context, id execution.ID, ref Ref, refused execution.Credential) (Lease, error)
	// Token is what is shown to a service that the execution calls, and until when it is good. It returns ErrLost and
	// ErrUnavailable, and ErrExpired when the lease is to be renewed first.
	Token(ctx context.Context, id execution.ID, ref Ref) (Token, error)
	// Revoke ends the lease of an execution, if there is one, whatever its reference, and forgets what it stood for. A lease
	// that is being made meanwhile, in any process, comes to nothing: what was granted for it is revoked too. Nothing is done to
	// the lease of an execution of the same id that was created after bornMs. It returns ErrUnavailable when it is to be called
	// again.
	Revoke(ctx context.Context, id execution.ID, bornMs int64) error
}

// Grant is what a lease is made from.
type Grant struct {
	Execution execution.ID
	// BornMs is when the execution was created, in ms since 1970. It tells it from one that had its id before: an idempotency
	// key, and the id that follows from it, may be used again when its execution was purged.
	BornMs  int64
	Caller  execution.Credential
	Request execution.DelegationRequest
}

// Lease names what a broker has established. Ref is opaque and never logged: see Ref.
type Lease struct {
	Ref Ref
	// ExpiresAt is when it is over unless it is renewed; zero: never.
	ExpiresAt time.Time
	// Revision grows with every renewal, from 1.
	Revision uint64
}

// ExpiresAtSeconds is ExpiresAt in seconds since 1970; 0: never.
func (l Lease) ExpiresAtSeconds() uint64 {
	if l.ExpiresAt.IsZero() {
		return 0
	}
	return uint64(l.ExpiresAt.Unix()) //nolint:gosec // an instant after 1970
}

// Ref names a lease. It prints redacted.
type Ref string

// String hides the reference.
func (Ref) String() string { return "[redacted]" }

// GoString hides the reference.
func (Ref) GoString() string { return "[redacted]" }

// Token is a short-lived credential. Its value prints redacted.
type Token struct {
	Value execution.Credential
	// ExpiresAt is until when it is good; zero: nobody has said.
	ExpiresAt time.Time
}

// Errors of a Broker. None of them carries a secret.
var (
	// ErrRefused reports that the caller may not have what was asked for. Repeating does not help.
	ErrRefused = errors.New("delegation refused")
	// ErrLost reports a lease that is over, revoked or unknown.
	ErrLost = errors.New("delegation lost")
	// ErrExpired reports a lease whose token is no longer good and that may be renewed.
	ErrExpired = errors.New("delegation expired")
	// ErrUnavailable reports that the broker did not answer, or not in a way that says what became of the call.
	ErrUnavailable = errors.New("delegation broker unavailable")
)

// Refusal is an ErrRefused that says why, in words for the caller.
type Refusal struct {
	// Field of the request that is refused, such as "delegation.scopes"; empty: no one field.
	Field string
	// Reason is a sentence without a secret.
	Reason string
}

// Error is the reason.
func (r *Refusal) Error() string { return fmt.Sprintf("%v: %s", ErrRefused, r.Reason) }

// Unwrap is ErrRefused.
func (r *Refusal) Unwrap() error { return ErrRefused }
