package delegation

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/execution"
)

// Static gives every execution the same token, which the environment holds. It establishes and revokes nothing, so it is for
// development and for services that know one account only.
type Static struct {
	token   execution.Credential
	allowed Allowed
}

var _ Broker = (*Static)(nil)

// staticRef is the reference of every lease: there is nothing to tell apart.
const staticRef = Ref("static")

// NewStatic refuses an empty token.
func NewStatic(token string, allowed Allowed) (*Static, error) {
	if token == "" {
		return nil, errors.New("delegation: the token is empty")
	}
	return &Static{token: execution.NewCredential(token), allowed: allowed}, nil
}

// Check implements Broker.
func (s *Static) Check(grant Grant) error {
	_, err := s.allowed.Narrow(grant.Request)
	return err
}

// Establish implements Broker. It asks for no credential of the caller.
func (s *Static) Establish(_ context.Context, grant Grant) (Lease, error) {
	if err := s.Check(grant); err != nil {
		return Lease{}, err
	}
	return Lease{Ref: staticRef, Revision: 1}, nil
}

// Renew implements Broker. There is no other token.
func (s *Static) Renew(context.Context, execution.ID, Ref, execution.Credential) (Lease, error) {
	return Lease{Ref: staticRef, Revision: 1}, nil
}

// Token implements Broker.
func (s *Static) Token(context.Context, execution.ID, Ref) (Token, error) {
	return Token{Value: s.token}, nil
}

// Revoke implements Broker.
func (s *Static) Revoke(context.Context, execution.ID, int64) error { return nil }
