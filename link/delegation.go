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

// Broker establishes the leases of executions. It is the part of a delegation.Broker that a submission needs.
type Broker interface {
	Check(grant delegation.Grant) error
	Establish(ctx context.Context, grant delegation.Grant) (delegation.Lease, error)
}

const (
	fieldDelegation = "delegation"
	// delegateTimeout bounds what must be written of a delegation even when its caller has gone.
	delegateTimeout = 5 * time.Second

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
	err := s.cfg.Broker.Check(sub.grant(0))
	if refusal := (*delegation.Refusal)(nil); errors.As(err, &refusal) {
		return invalid(refusal.Field, "%s", refusal.Reason).Because(err)
	}
	return err
}

func (sub submission) grant(bornMs int64) delegation.Grant {
	return delegation.Grant{Execution: sub.id, BornMs: bornMs, Caller: sub.credential, Request: *sub.request.Delegation}
}

// delegate establishes the lease that the row was reserved for and attaches it: only then can anybody claim the row. When
// both have happened before, nothing does. A lease that comes when the row has ended needs nobody here: the clean-up of the row
// finds it, or the broker gave it back because the clean-up was there before.
func (s *Service) delegate(ctx context.Context, sub submission, row journal.Execution) (journal.Execution, error) {
	if row.State != execution.Queued || row.Delegation == nil || row.Delegation.LeaseRef != "" {
		return row, nil
	}
	lease, err := s.cfg.Broker.Establish(ctx, sub.grant(row.CreatedAtMs))
	faultpoint.Hit("delegation_established")
	if errors.Is(err, delegation.ErrLost) {
		return s.revokedMeanwhile(ctx, sub, row, err)
	}
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
		return s.cfg.Journal.Get(ctx, row.ID)
	}
	if err != nil {
		return row, err
	}
	s.enqueue(ctx, change.Tasks)
	return change.Execution, nil
}

// revokedMeanwhile is what has become of a row whose lease was revoked while it was made: a clean-up does so, after the end.
func (s *Service) revokedMeanwhile(
	ctx context.Context, sub submission, row journal.Execution, lost error,
) (journal.Execution, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), delegateTimeout)
	defer cancel()
	row, err := s.cfg.Journal.Get(ctx, row.ID)
	if err == nil && !row.State.Terminal() && row.State != execution.Finalizing {
		return row, keyMarked().Because(lost)
	}
	return row, err
}

// keyMarked is the answer where an earlier execution of the same key, which was purged, has left a mark that does not say whose it
// is (an earlier release wrote it, or Redis's clock went back): it goes by itself.
func keyMarked() *execution.APIError {
	return execution.NewAPIError(execution.Conflict, "the delegation of an earlier execution with this Idempotency-Key was revoked a moment ago: "+
		"submit again in a quarter of an hour, or with another key now").In(fieldDelegation).After(time.Minute)
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
