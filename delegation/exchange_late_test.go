package delegation_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/delegation/delegationtest"
	"github.com/pawl-run/pawl/execution"
)

// between calls meet when the server has exchanged a token, once, before the broker hears of it.
type between struct {
	meet func()
	once *sync.Once
}

func (b between) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	form, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if strings.Contains(string(form), "token-exchange") {
		b.once.Do(b.meet)
	}
	return response, err
}

// meeting is a broker during whose first exchange something else happens.
func (s *scene) meeting(meet func()) *delegation.Exchange {
	s.t.Helper()
	return s.at(func(cfg *delegation.ExchangeConfig) {
		cfg.HTTP = &http.Client{Transport: between{meet: meet, once: new(sync.Once)}}
	})
}

func TestALeaseThatIsRevokedWhileItIsMadeComesToNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	late := s.meeting(func() { require.NoError(t, s.broker.Revoke(t.Context(), s.id, born)) })
	grant := delegation.Grant{Execution: s.id, BornMs: born, Caller: s.issuer.SignIn(t, delegationtest.User)}
	_, err := late.Establish(t.Context(), grant)
	require.ErrorIs(t, err, delegation.ErrLost)
	require.EqualValues(t, 1, s.issuer.Exchanges.Load())
	require.EqualValues(t, 2, s.issuer.Revocations.Load(), "what was granted is revoked: a refresh token and an access token")
	s.forgotten()
	_, err = late.Establish(t.Context(), grant)
	require.ErrorIs(t, err, delegation.ErrLost)
	require.EqualValues(t, 1, s.issuer.Exchanges.Load(), "nothing is asked for any more")
}

func TestASecondLeaseThatComesWhenTheFirstIsRevokedComesToNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	late := s.meeting(func() {
		s.established()
		require.NoError(t, s.broker.Revoke(t.Context(), s.id, born))
	})
	_, err := late.Establish(t.Context(), delegation.Grant{Execution: s.id, BornMs: born, Caller: s.issuer.SignIn(t, delegationtest.User)})
	require.ErrorIs(t, err, delegation.ErrLost)
	require.EqualValues(t, 4, s.issuer.Revocations.Load(), "those of both")
	s.forgotten()
}

// meetingVault has something else happen between the first look of a revocation and what follows it.
type meetingVault struct {
	delegation.Vault
	meet func()
	once *sync.Once
}

func (v meetingVault) Forget(
	ctx context.Context, id execution.ID, born int64, was []byte, refuse time.Duration,
) ([]byte, error) {
	left, err := v.Vault.Forget(ctx, id, born, was, refuse)
	v.once.Do(v.meet)
	return left, err
}

func TestARevocationThatMeetsARenewalRevokesWhatThatGave(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	lease := s.established()
	var token delegation.Token
	renew := func() {
		_, err := s.at(soon).Renew(t.Context(), s.id, lease.Ref, execution.Credential{})
		require.NoError(t, err)
		token, err = s.broker.Token(t.Context(), s.id, lease.Ref)
		require.NoError(t, err)
		require.True(t, s.issuer.Good(t, token.Value))
	}
	revoker := s.at(func(cfg *delegation.ExchangeConfig) {
		cfg.Vault = meetingVault{Vault: cfg.Vault, meet: renew, once: new(sync.Once)}
	})
	require.NoError(t, revoker.Revoke(t.Context(), s.id, born))
	require.EqualValues(t, 1, s.issuer.Refreshes.Load())
	require.False(t, s.issuer.Good(t, token.Value))
	s.forgotten()
}

func TestManyThatEstablishAndRevokeAtOnceLeaveNothing(t *testing.T) {
	t.Parallel()
	for range 5 {
		s := newScene(t, nil)
		caller := s.issuer.SignIn(t, delegationtest.User)
		var wg sync.WaitGroup
		var tokens sync.Map
		for range 4 {
			wg.Go(func() {
				lease, err := s.establish(caller)
				if err != nil {
					assert.ErrorIs(t, err, delegation.ErrLost)
					return
				}
				if token, err := s.broker.Token(t.Context(), s.id, lease.Ref); err == nil {
					tokens.Store(token.Value.Reveal(), true)
				}
			})
		}
		wg.Go(func() { assert.NoError(t, s.broker.Revoke(t.Context(), s.id, born)) })
		wg.Wait()
		require.NoError(t, s.broker.Revoke(t.Context(), s.id, born))
		s.forgotten()
		require.Equal(t, 2*s.issuer.Exchanges.Load(), s.issuer.Revocations.Load(), "each token that was granted")
		for token := range tokens.Range {
			require.False(t, s.issuer.Good(t, execution.NewCredential(token.(string))))
		}
	}
}
