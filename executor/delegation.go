package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Delegations gives the tokens of leases. It is the part of a delegation.Broker that a worker needs.
type Delegations interface {
	Token(ctx context.Context, id execution.ID, ref delegation.Ref) (delegation.Token, error)
	Renew(ctx context.Context, id execution.ID, ref delegation.Ref, refused execution.Credential) (delegation.Lease, error)
}

// errNotDelegated reports an execution that acts for nobody.
var errNotDelegated = errors.New("the execution was submitted without a delegation")

// tokenAhead is how long before its end a token of this node is asked for again.
const tokenAhead = 10 * time.Second

// delegated keeps the token of a node's delegation in memory, for as long as the node runs.
type delegated struct {
	mu    sync.Mutex
	token delegation.Token     // guarded by mu
	final execution.Credential // guarded by mu; a token for which there is no other one
}

// Credential implements environment. A lease that was renewed is in the row before its token is used.
func (h *holder) Credential(ctx context.Context, refused execution.Credential) (execution.Credential, error) {
	lease, broker := h.claimed.Execution.Delegation, h.durable.cfg.Delegations
	if lease == nil || broker == nil {
		return execution.Credential{}, errNotDelegated
	}
	h.delegated.mu.Lock()
	defer h.delegated.mu.Unlock()
	if h.delegated.serves(refused) {
		return h.delegated.token.Value, nil
	}
	token, err := h.token(ctx, broker, delegation.Ref(lease.LeaseRef), refused)
	if err != nil {
		return execution.Credential{}, fmt.Errorf("token of %s: %w", h.claimed.Execution.ID, err)
	}
	h.delegated.token = token
	if !refused.IsZero() && token.Value.Reveal() == refused.Reveal() {
		h.delegated.final = refused
	}
	return token.Value, nil
}

// serves reports whether the token that is kept will do. mu is held.
func (d *delegated) serves(refused execution.Credential) bool {
	kept := d.token
	if kept.Value.IsZero() || !kept.ExpiresAt.IsZero() && time.Until(kept.ExpiresAt) <= tokenAhead {
		return false
	}
	return kept.Value.Reveal() != refused.Reveal() || d.final.Reveal() == refused.Reveal()
}

// token asks the broker for a token, and has the lease renewed when that is over or was refused.
func (h *holder) token(
	ctx context.Context, broker Delegations, ref delegation.Ref, refused execution.Credential,
) (delegation.Token, error) {
	id := h.claimed.Execution.ID
	token, err := broker.Token(ctx, id, ref)
	if errors.Is(err, delegation.ErrExpired) || err == nil && token.Value.Reveal() == refused.Reveal() {
		if err = h.renewDelegation(ctx, id, ref, refused); err == nil {
			token, err = broker.Token(ctx, id, ref)
		}
	}
	return token, err
}

// renewDelegation renews the lease and says so in the row.
func (h *holder) renewDelegation(ctx context.Context, id execution.ID, ref delegation.Ref, refused execution.Credential) error {
	lease, err := h.durable.cfg.Delegations.Renew(ctx, id, ref, refused)
	if err != nil {
		return err
	}
	renewed := journal.Delegation{
		LeaseRef: journal.LeaseRef(lease.Ref), ExpiresAtSeconds: lease.ExpiresAtSeconds(), Revision: lease.Revision,
	}
	hold, done, err := h.betweenRenewals(ctx)
	if err != nil {
		return err
	}
	defer done()
	return repeat(context.WithoutCancel(ctx), h.trust.until(), func(ctx context.Context) error {
		_, err := h.durable.cfg.Store.AttachDelegation(ctx, hold, renewed)
		return err
	})
}

// renewalPoll is how often a call that must not overtake a renewal looks whether that is over.
const renewalPoll = 5 * time.Millisecond

// betweenRenewals is a hold for a numbered call that is made while the node works: it waits for a renewal of the claim that is
// on its way, and none begins before done, because of two calls that overtake each other the store refuses the first.
func (h *holder) betweenRenewals(ctx context.Context) (hold journal.Hold, done func(), err error) {
	for {
		h.mu.Lock()
		if !h.renewal.busy {
			h.renewal.busy = true
			h.operation++
			hold = journal.Hold{Execution: h.claimed.Execution.ID, Fence: h.claimed.Fence, Operation: h.operation}
			h.mu.Unlock()
			return hold, func() {
				h.mu.Lock()
				h.renewal.busy = false
				h.mu.Unlock()
			}, nil
		}
		h.mu.Unlock()
		timer := time.NewTimer(renewalPoll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return hold, nil, context.Cause(ctx)
		case <-timer.C:
		}
	}
}

// credential gets the token of a delegated call. It returns false for a call that is not to be sent: what may pass is tried
// again, what will not is a result that the model reads.
func (m *machine) credential(ctx context.Context, p *pending) bool {
	if !p.spec.Delegated {
		return true
	}
	token, err := m.bearer(ctx, execution.Credential{})
	if err == nil {
		p.credential = token
		return true
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errToolTimeout) {
		return false // interrupted: the cause decides
	}
	var none *local.Error
	if errors.As(err, &none) && none.Kind == local.Permanent {
		p.answer(execution.ErrorResult(p.entry.intent.Call, execution.ToolExecution, none.Message))
	} else {
		p.transient = err
	}
	return false
}

// bearer is the local.Bearer of the node.
func (m *machine) bearer(ctx context.Context, refused execution.Credential) (execution.Credential, error) {
	token, err := m.env.Credential(ctx, refused)
	if err != nil {
		return token, tokenless(err)
	}
	return token, nil
}

// tokenless says what a missing token means: permanent when there will be none, in words for the model, else transient.
func tokenless(err error) *local.Error {
	switch {
	case errors.Is(err, errNotDelegated):
		return &local.Error{
			Kind: local.Permanent, Code: "delegation_missing", Err: err,
			Message: "this call needs a delegation, and the execution was submitted without one",
		}
	case errors.Is(err, delegation.ErrLost), errors.Is(err, delegation.ErrRefused):
		return &local.Error{
			Kind: local.Permanent, Code: string(execution.CodeDelegationLost), Err: err,
			Message: "the delegation of this execution has ended: it can no longer act for whoever submitted it",
		}
	default:
		return &local.Error{
			Kind: local.Transient, Code: "delegation_unavailable", Message: "no token could be had for the call", Err: err,
		}
	}
}

// Credential implements environment: what runs in process acts for nobody.
func (r *directRun) Credential(context.Context, execution.Credential) (execution.Credential, error) {
	return execution.Credential{}, errNotDelegated
}
