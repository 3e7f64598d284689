package delegation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/delegation/delegationtest"
	"github.com/pawl-run/pawl/execution"
)

// again is the grant of an execution that has the id of one that was purged: its idempotency key was used again.
func (s *scene) again() delegation.Grant {
	return delegation.Grant{Execution: s.id, BornMs: born + 1, Caller: s.issuer.SignIn(s.t, delegationtest.User)}
}

func TestAnIDThatIsUsedAgainHasALeaseAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	first := s.established()
	refused := s.token(first.Ref)
	require.NoError(t, s.broker.Revoke(t.Context(), s.id, born))
	second, err := s.broker.Establish(t.Context(), s.again())
	require.NoError(t, err, "the mark of the first is not its own")
	require.NotEqual(t, first.Ref, second.Ref)
	token := s.token(second.Ref)
	require.True(t, s.issuer.Good(t, token))
	require.False(t, s.issuer.Good(t, refused))

	require.NoError(t, s.broker.Revoke(t.Context(), s.id, born), "a clean-up of the first that comes late")
	require.True(t, s.issuer.Good(t, s.token(second.Ref)), "does nothing to the second")
	_, err = s.establish(s.issuer.SignIn(t, delegationtest.User))
	require.ErrorIs(t, err, delegation.ErrLost, "nor does a submission of the first")

	require.NoError(t, s.broker.Revoke(t.Context(), s.id, born+1))
	require.False(t, s.issuer.Good(t, token))
	_, err = s.broker.Establish(t.Context(), s.again())
	require.ErrorIs(t, err, delegation.ErrLost)
	_, err = s.broker.Token(t.Context(), s.id, second.Ref)
	require.ErrorIs(t, err, delegation.ErrLost)
}

// TestALeaseThatWasNeverRevokedIsNoLaterExecutions: the first was purged although its clean-up had not succeeded.
func TestALeaseThatWasNeverRevokedIsNoLaterExecutions(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	grant := s.again()
	grant.BornMs = born
	grant.Request = execution.DelegationRequest{Scopes: []string{"openid", "profile"}}
	first, err := s.broker.Establish(t.Context(), grant)
	require.NoError(t, err)
	old := s.token(first.Ref)
	s.issuer.Down.Store(true)
	_, err = s.broker.Establish(t.Context(), s.again())
	require.ErrorIs(t, err, delegation.ErrUnavailable)
	s.issuer.Down.Store(false)
	second, err := s.broker.Establish(t.Context(), s.again())
	require.NoError(t, err)
	require.NotEqual(t, first.Ref, second.Ref)
	require.False(t, s.issuer.Good(t, old), "what was left is revoked")
	require.True(t, s.issuer.Good(t, s.token(second.Ref)))
}

func TestALeaseThatComesWhenALaterExecutionHasOneComesToNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	var second delegation.Lease
	late := s.meeting(func() {
		require.NoError(t, s.broker.Revoke(t.Context(), s.id, born))
		var err error
		second, err = s.broker.Establish(t.Context(), s.again())
		require.NoError(t, err)
	})
	_, err := late.Establish(t.Context(), delegation.Grant{Execution: s.id, BornMs: born, Caller: s.issuer.SignIn(t, delegationtest.User)})
	require.ErrorIs(t, err, delegation.ErrLost)
	require.EqualValues(t, 2, s.issuer.Revocations.Load(), "what it was given")
	require.True(t, s.issuer.Good(t, s.token(second.Ref)))
}

// TestTheMarkOfAnEarlierReleaseHoldsForAll: it does not say whose it is.
func TestTheMarkOfAnEarlierReleaseHoldsForAll(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	require.NoError(t, s.broker.Revoke(t.Context(), s.id, born))
	client := s.redis.Client(t)
	for key := range s.dump() {
		require.NoError(t, client.Set(t.Context(), key, "", 0).Err())
	}
	require.NoError(t, s.broker.Revoke(t.Context(), s.id, born))
	_, err := s.broker.Establish(t.Context(), s.again())
	require.ErrorIs(t, err, delegation.ErrLost)
}
