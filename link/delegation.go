package link

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/faultpoint"
	"github.com/pawl-run/pawl/journal"
)

// Broker establishes the leases of executions, and revokes those that come too late. It is the part of a delegation.Broker that
// a submission needs.
type Broker interface {
	Check(grant delegation.Grant) error
	Establish(ctx context.Context, grant delegation.Grant) (delegation.Lease, error)
	Revoke(ctx context.Context, id execution.ID) error
}

const (
	fieldDelegation = "delegation"
	// delegateTimeout bounds what must be written of a delegation even when its caller has gone.
	delegateTimeout = 5 * time.Second
	// revokeTimeout bounds the revocation of a lease that came too late.
	revokeTimeout = 20 * time.Second

	maxDelegationText = 2048
	maxScopes         = 64
)

func validateDelegation(r execution.CreateRequest) error {
	if r.Delegation == nil {
		return nil
	}
	for field, text := range map[string]string{"audience": r.Delegation.Audience, "resource": r.Delegation.Resource} {
		if len(text) > maxDelegationText {
			return invalid(fieldDelegation+"."+field, "want at most %d bytes", maxDelegationText)
		}
	}
	if len(r.Delegation.Scopes) > maxScopes {
		return invalid(fieldDelegation+".scopes", "want at most %d, got %d", maxScopes, len(r.Delegation.Scopes))
	}
	for _, scope := range r.Delegation.Scopes {
		if scope == "" || len(scope) > maxDelegationText {
			return invalid(fieldDelegation+".scopes", "want texts of 1 to %d bytes", maxDelegationText)
		}
	}
	return nil
}

// mayDelegate refuses before anything is written what is known to be refused.
func (s *Service) mayDelegate(sub submission, definition *agent.Definition) error {
	switch {
	case sub.request.Delegation == nil:
		return nil
	case s.cfg.Broker == nil:
		return invalid(fieldDelegation, "this installation delegates nothing: "+
			"its operator has set neither PAWL_DELEGATION_TOKEN_URL nor PAWL_DELEGATION_STATIC_TOKEN")
	case !slices.ContainsFunc(definition.Tools, func(t agent.Tool) bool { return t.Auth == agent.AuthDelegation }):
		return invalid(fieldDelegation, "the agent has no tool that says auth: delegation, so nothing would use it")
	}
	err := s.cfg.Broker.Check(sub.grant())
	if refusal := (*delegation.Refusal)(nil); errors.As(err, &refusal) {
		return invalid(refusal.Field, "%s", refusal.Reason).Because(err)
	}
	return err
}

func (sub submission) grant() delegation.Grant {
	return delegation.Grant{Execution: sub.id, Caller: sub.credential, Request: *sub.request.Delegation}
}

// delegate establishes the lease that the row was reserved for and attaches it: only then can anybody claim the row. When
// both have happened before, nothing does.
func (s *Service) delegate(ctx context.Context, sub submission, row journal.Execution) (journal.Execution, error) {
	if row.State != execution.Queued || row.Delegation == nil || row.Delegation.LeaseRef != "" {
		return row, nil
	}
	lease, err := s.cfg.Broker.Establish(ctx, sub.grant())
	faultpoint.Hit("delegation_established")
	if err != nil {
		return row, s.notDelegated(ctx, sub, row.ID, err)
	}
	attached := journal.Delegation{
		LeaseRef: journal.LeaseRef(lease.Ref), ExpiresAtSeconds: lease.ExpiresAtSeconds(), Revision: lease.Revision,
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), delegateTimeout)
	defer cancel()
	change, err := s.cfg.Journal.Delegate(ctx, row.ID, attached)
	if errors.Is(err, journal.ErrState) { // canceled meanwhile, too late, or another one was first
		row, err = s.cfg.Journal.Get(ctx, row.ID)
		if err == nil && (row.State.Terminal() || row.State == execution.Finalizing) {
			s.tooLate(ctx, row.ID)
		}
		return row, err
	}
	if errors.Is(err, journal.ErrNotFound) { // ended and deleted meanwhile
		s.tooLate(ctx, row.ID)
	}
	if err != nil {
		return row, err
	}
	s.enqueue(ctx, change.Tasks)
	return change.Execution, nil
}

// tooLate revokes a lease that was made while its execution ended. Whoever cleaned up may have found none, and comes no more.
func (s *Service) tooLate(ctx context.Context, id execution.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTimeout)
	defer cancel()
	if err := s.cfg.Broker.Revoke(ctx, id); err != nil {
		s.cfg.Logger.WarnContext(ctx, "the tokens of an execution that has ended were not revoked; they run out by themselves",
			"execution", id, "error", err)
	}
}

// notDelegated says why there is no lease. The row ends when nobody can come back for it.
func (s *Service) notDelegated(ctx context.Context, sub submission, id execution.ID, err error) error {
	failure := execution.Failure{Code: execution.CodeDelegationLost, Message: "no delegation could be established"}
	answer := execution.NewAPIError(execution.Unavailable,
		"the server that exchanges tokens did not answer; submit again, with the same Idempotency-Key").In(fieldDelegation).Because(err)
	refusal := (*delegation.Refusal)(nil)
	refused := errors.As(err, &refusal)
	if refused {
		failure = execution.Failure{Code: execution.CodeDelegationRefused, Message: refusal.Reason}
		answer = execution.NewAPIError(execution.Forbidden, "%s", refusal.Reason).In(fieldDelegation).Because(err)
	}
	if !refused && sub.key != "" {
		return answer
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), delegateTimeout)
	defer cancel()
	if _, failed := s.cfg.Journal.RefuseDelegation(ctx, id, failure); failed != nil && !errors.Is(failed, journal.ErrState) {
		s.cfg.Logger.WarnContext(ctx, "left to the reaper", "execution", id, "error", failed)
	}
	return answer
}
