package delegationtest

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
)

// BrokerCase is a broker under test.
type BrokerCase struct {
	Broker delegation.Broker
	// Caller may have a lease.
	Caller execution.Credential
	// TooMuch is what nobody may have.
	TooMuch execution.DelegationRequest
	// KeepsNothing says that the broker has nothing to revoke: every execution has its lease at any time.
	KeepsNothing bool
}

// brokerClauses are what every broker must do.
func brokerClauses() map[string]func(*testing.T, BrokerCase, execution.ID) {
	return map[string]func(*testing.T, BrokerCase, execution.ID){
		"a lease gives a token":                          leaseGivesToken,
		"a token that a service refuses is renewed once": refusedToken,
		"what is too much is refused":                    tooMuchRefused,
		"establishing again, and at once, is one lease":  oneLease,
		"revoking is idempotent, and needs no lease":     revokedTwice,
		"after a revocation there is no lease any more":  noLeaseAfter,
		"after one that found nothing there is none too": noLateLease,
	}
}

// RunBroker runs the clauses of a delegation.Broker, each with an execution of its own.
func RunBroker(t *testing.T, open func(*testing.T) BrokerCase) {
	t.Helper()
	for name, clause := range brokerClauses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clause(t, open(t), execution.NewID(execution.RandomPartition()))
		})
	}
}

func (c BrokerCase) establish(t *testing.T, id execution.ID) (delegation.Lease, error) {
	t.Helper()
	return c.Broker.Establish(t.Context(), delegation.Grant{Execution: id, BornMs: born, Caller: c.Caller})
}

func (c BrokerCase) established(t *testing.T, id execution.ID) delegation.Lease {
	t.Helper()
	lease, err := c.establish(t, id)
	require.NoError(t, err)
	require.NotEmpty(t, lease.Ref)
	require.EqualValues(t, 1, lease.Revision)
	return lease
}

func leaseGivesToken(t *testing.T, c BrokerCase, id execution.ID) {
	lease := c.established(t, id)
	renewed, err := c.Broker.Renew(t.Context(), id, lease.Ref, execution.Credential{})
	require.NoError(t, err)
	require.Equal(t, lease, renewed, "it lasts for a while")
	token, err := c.Broker.Token(t.Context(), id, lease.Ref)
	require.NoError(t, err)
	require.False(t, token.Value.IsZero())
	renewed, err = c.Broker.Renew(t.Context(), id, lease.Ref, execution.NewCredential("another token"))
	require.NoError(t, err)
	require.Equal(t, lease, renewed, "its token was not refused")
}

func refusedToken(t *testing.T, c BrokerCase, id execution.ID) {
	lease := c.established(t, id)
	refused, err := c.Broker.Token(t.Context(), id, lease.Ref)
	require.NoError(t, err)
	for range 2 {
		renewed, err := c.Broker.Renew(t.Context(), id, lease.Ref, refused.Value)
		require.NoError(t, err)
		token, err := c.Broker.Token(t.Context(), id, lease.Ref)
		require.NoError(t, err)
		require.Equal(t, lease.Ref, renewed.Ref)
		require.Equal(t, c.KeepsNothing, token.Value.Reveal() == refused.Value.Reveal(), "another one, where there are others")
		if !c.KeepsNothing {
			require.EqualValues(t, 2, renewed.Revision, "once for all who come with it")
		}
	}
}

func tooMuchRefused(t *testing.T, c BrokerCase, id execution.ID) {
	grant := delegation.Grant{Execution: id, BornMs: born, Caller: c.Caller, Request: c.TooMuch}
	require.ErrorIs(t, c.Broker.Check(grant), delegation.ErrRefused)
	_, err := c.Broker.Establish(t.Context(), grant)
	require.ErrorIs(t, err, delegation.ErrRefused)
}

func oneLease(t *testing.T, c BrokerCase, id execution.ID) {
	var wg sync.WaitGroup
	leases, errs := make([]delegation.Lease, 8), make([]error, 8)
	for i := range leases {
		wg.Go(func() { leases[i], errs[i] = c.establish(t, id) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	again := c.established(t, id)
	for _, lease := range leases {
		require.Equal(t, again.Ref, lease.Ref)
	}
}

func revokedTwice(t *testing.T, c BrokerCase, id execution.ID) {
	for range 2 {
		require.NoError(t, c.Broker.Revoke(t.Context(), id, born))
	}
}

func noLeaseAfter(t *testing.T, c BrokerCase, id execution.ID) {
	lease := c.established(t, id)
	require.NoError(t, c.Broker.Revoke(t.Context(), id, born))
	c.over(t, id, lease.Ref)
	require.NoError(t, c.Broker.Revoke(t.Context(), id, born))
	c.over(t, id, lease.Ref)
}

func noLateLease(t *testing.T, c BrokerCase, id execution.ID) {
	require.NoError(t, c.Broker.Revoke(t.Context(), id, born))
	c.over(t, id, "lease")
}

// over checks that the execution has no lease and gets none.
func (c BrokerCase) over(t *testing.T, id execution.ID, ref delegation.Ref) {
	t.Helper()
	if c.KeepsNothing {
		c.established(t, id)
		return
	}
	for range 2 {
		_, err := c.establish(t, id)
		require.ErrorIs(t, err, delegation.ErrLost)
		_, err = c.Broker.Token(t.Context(), id, ref)
		require.ErrorIs(t, err, delegation.ErrLost)
		_, err = c.Broker.Renew(t.Context(), id, ref, execution.Credential{})
		require.ErrorIs(t, err, delegation.ErrLost)
	}
}
