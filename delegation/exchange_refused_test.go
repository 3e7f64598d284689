package delegation_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
)

func (s *scene) token(ref delegation.Ref) execution.Credential {
	s.t.Helper()
	token, err := s.broker.Token(s.t.Context(), s.id, ref)
	require.NoError(s.t, err)
	return token.Value
}

func TestATokenThatAServiceRefusesIsRenewedOnceForAllWhoCome(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	lease := s.established()
	refused := s.token(lease.Ref)
	s.issuer.End(t, refused)
	var wg sync.WaitGroup
	errs, leases := make([]error, 8), make([]delegation.Lease, 8)
	for i := range errs {
		broker := s.at(nil)
		wg.Go(func() { leases[i], errs[i] = broker.Renew(t.Context(), s.id, lease.Ref, refused) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, renewed := range leases {
		require.EqualValues(t, 2, renewed.Revision)
	}
	require.EqualValues(t, 1, s.issuer.Refreshes.Load())
	next := s.token(lease.Ref)
	require.True(t, s.issuer.Good(t, next))

	same, err := s.broker.Renew(t.Context(), s.id, lease.Ref, refused)
	require.NoError(t, err, "who comes late")
	require.EqualValues(t, 2, same.Revision)
	same, err = s.broker.Renew(t.Context(), s.id, lease.Ref, next)
	require.NoError(t, err, "a service that takes nothing")
	require.EqualValues(t, 2, same.Revision)
	require.EqualValues(t, 1, s.issuer.Refreshes.Load())

	later := s.at(func(cfg *delegation.ExchangeConfig) {
		cfg.Now = func() time.Time { return time.Now().Add(2 * time.Minute) }
	})
	again, err := later.Renew(t.Context(), s.id, lease.Ref, next)
	require.NoError(t, err)
	require.EqualValues(t, 3, again.Revision, "the pause is over")
	require.True(t, s.issuer.Good(t, s.token(lease.Ref)))
}
