package delegation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/delegation/delegationtest"
	"github.com/pawl-run/pawl/delegation/redisvault"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

// born is when the executions were created.
const born = 1_764_500_000_000

func TestMain(m *testing.M) { redistest.Main(m) }

// scene is a broker at a real server, with a real Redis.
type scene struct {
	t      *testing.T
	issuer *delegationtest.Issuer
	redis  *redistest.Server
	prefix string
	broker *delegation.Exchange
	id     execution.ID
}

func newScene(t *testing.T, change func(*delegation.ExchangeConfig)) *scene {
	t.Helper()
	s := &scene{
		t: t, issuer: delegationtest.Start(t), redis: redistest.Shared(t), prefix: redistest.Prefix(),
		id: execution.NewID(7),
	}
	s.broker = s.at(change)
	return s
}

// at is another process's broker at the same server.
func (s *scene) at(change func(*delegation.ExchangeConfig)) *delegation.Exchange {
	s.t.Helper()
	keys, err := delegation.NewKeyring(delegationtest.Key(0))
	require.NoError(s.t, err)
	cfg := s.issuer.Config(redisvault.New(s.redis.Client(s.t), s.prefix), keys)
	if change != nil {
		change(&cfg)
	}
	broker, err := delegation.NewExchange(cfg)
	require.NoError(s.t, err)
	return broker
}

func (s *scene) establish(caller execution.Credential) (delegation.Lease, error) {
	return s.broker.Establish(s.t.Context(), delegation.Grant{Execution: s.id, BornMs: born, Caller: caller})
}

func (s *scene) established() delegation.Lease {
	s.t.Helper()
	lease, err := s.establish(s.issuer.SignIn(s.t, delegationtest.User))
	require.NoError(s.t, err)
	return lease
}

func (s *scene) dump() map[string]string { return redistest.Dump(s.t, s.redis.Client(s.t), s.prefix) }

// forgotten checks that nothing is left of the lease but the mark that there is to be no other one, which goes soon.
func (s *scene) forgotten() {
	s.t.Helper()
	client := s.redis.Client(s.t)
	for key, value := range s.dump() {
		require.Equal(s.t, fmt.Sprintf(`string "\x00%d"`, born), value, key)
		expires, err := client.PTTL(s.t.Context(), key).Result()
		require.NoError(s.t, err)
		require.Positive(s.t, expires)
		require.LessOrEqual(s.t, expires, 11*time.Minute)
	}
}

func TestBrokers(t *testing.T) {
	t.Parallel()
	tooMuch := execution.DelegationRequest{Scopes: []string{"everything"}}
	t.Run("exchange", func(t *testing.T) {
		t.Parallel()
		delegationtest.RunBroker(t, func(t *testing.T) delegationtest.BrokerCase {
			t.Helper()
			s := newScene(t, nil)
			return delegationtest.BrokerCase{Broker: s.broker, Caller: s.issuer.SignIn(t, delegationtest.User), TooMuch: tooMuch}
		})
	})
	t.Run("static", func(t *testing.T) {
		t.Parallel()
		delegationtest.RunBroker(t, func(t *testing.T) delegationtest.BrokerCase {
			t.Helper()
			broker, err := delegation.NewStatic("static-token", delegation.Allowed{})
			require.NoError(t, err)
			return delegationtest.BrokerCase{Broker: broker, TooMuch: tooMuch, KeepsNothing: true}
		})
	})
}

func TestALeaseGivesATokenThatTheServerTakesUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	caller := s.issuer.SignIn(t, delegationtest.User)
	lease, err := s.establish(caller)
	require.NoError(t, err)
	require.EqualValues(t, 1, lease.Revision)
	require.True(t, lease.ExpiresAt.After(time.Now()))
	token, err := s.broker.Token(t.Context(), s.id, lease.Ref)
	require.NoError(t, err)
	require.NotEqual(t, caller.Reveal(), token.Value.Reveal(), "the caller's own token is not what is used")
	require.True(t, s.issuer.Good(t, token.Value))

	for range 2 { // the second time there is nothing left to do
		require.NoError(t, s.broker.Revoke(t.Context(), s.id, born))
		require.False(t, s.issuer.Good(t, token.Value))
	}
	require.True(t, s.issuer.Good(t, caller), "the caller's own token is not touched")
	s.forgotten()
	_, err = s.broker.Token(t.Context(), s.id, lease.Ref)
	require.ErrorIs(t, err, delegation.ErrLost)
	_, err = s.broker.Renew(t.Context(), s.id, lease.Ref, execution.Credential{})
	require.ErrorIs(t, err, delegation.ErrLost)
}

func TestEstablishingTwiceGivesOneLease(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	first := s.established()
	again, err := s.establish(execution.Credential{}) // a replay needs no credential any more
	require.NoError(t, err)
	require.Equal(t, first.Ref, again.Ref)
	require.EqualValues(t, 1, s.issuer.Exchanges.Load())
}

func TestManyThatEstablishAtOnceGetOneLeaseAndTheTokensOfTheOthersAreRevoked(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	caller := s.issuer.SignIn(t, delegationtest.User)
	var wg sync.WaitGroup
	leases, errs := make([]delegation.Lease, 8), make([]error, 8)
	for i := range leases {
		wg.Go(func() { leases[i], errs[i] = s.establish(caller) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, lease := range leases {
		require.Equal(t, leases[0].Ref, lease.Ref)
	}
	surplus := s.issuer.Exchanges.Load() - 1
	require.EqualValues(t, 2*surplus, s.issuer.Revocations.Load(), "the refresh token and the access token of each")
}

func TestARenewalRaisesTheRevisionAndTheOldTokenIsOver(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	lease := s.established()
	same, err := s.broker.Renew(t.Context(), s.id, lease.Ref, execution.Credential{})
	require.NoError(t, err)
	require.Equal(t, lease, same, "it lasts for a while")
	require.Zero(t, s.issuer.Refreshes.Load())
	old, err := s.broker.Token(t.Context(), s.id, lease.Ref)
	require.NoError(t, err)

	late := s.at(soon) // the server's tokens last five minutes
	_, err = late.Token(t.Context(), s.id, lease.Ref)
	require.ErrorIs(t, err, delegation.ErrExpired)
	renewed, err := late.Renew(t.Context(), s.id, lease.Ref, execution.Credential{})
	require.NoError(t, err)
	require.Equal(t, lease.Ref, renewed.Ref)
	require.EqualValues(t, 2, renewed.Revision)
	token, err := s.broker.Token(t.Context(), s.id, lease.Ref)
	require.NoError(t, err)
	require.True(t, s.issuer.Good(t, token.Value))
	require.False(t, s.issuer.Good(t, old.Value))
}

// soon is four and a half minutes later.
func soon(cfg *delegation.ExchangeConfig) {
	cfg.Now = func() time.Time { return time.Now().Add(270 * time.Second) }
}

func TestManyThatRenewAtOnceUseTheRefreshTokenOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	lease := s.established()
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		broker := s.at(soon)
		wg.Go(func() { _, errs[i] = broker.Renew(t.Context(), s.id, lease.Ref, execution.Credential{}) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...), "a refresh token that is used twice is refused by this server")
}

func TestAServerWithoutRefreshTokensIsAskedToExchangeItsOwnTokenWhileThatIsGood(t *testing.T) {
	t.Parallel()
	plain := func(cfg *delegation.ExchangeConfig) { cfg.RequestedTokenType = delegation.AccessTokenType }
	s := newScene(t, plain)
	lease := s.established()
	late := s.at(func(cfg *delegation.ExchangeConfig) { plain(cfg); soon(cfg) })
	renewed, err := late.Renew(t.Context(), s.id, lease.Ref, execution.Credential{})
	require.NoError(t, err)
	require.EqualValues(t, 2, renewed.Revision)
	require.EqualValues(t, 2, s.issuer.Exchanges.Load())
}

func TestRefusalsNameTheFieldAndLeaveNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	caller := s.issuer.SignIn(t, delegationtest.User)
	for name, c := range map[string]struct {
		caller  execution.Credential
		request execution.DelegationRequest
		field   string
	}{
		"no credential":           {field: "delegation"},
		"not a token":             {caller: execution.NewCredential("not-a-token")},
		"a user who may not":      {caller: s.issuer.SignIn(t, delegationtest.Powerless)},
		"a scope not allowed":     {caller, execution.DelegationRequest{Scopes: []string{"everything"}}, "delegation.scopes"},
		"an audience not allowed": {caller, execution.DelegationRequest{Audience: "bank"}, "delegation.audience"},
		"a resource not allowed":  {caller, execution.DelegationRequest{Resource: "https://bank"}, "delegation.resource"},
	} {
		_, err := s.broker.Establish(t.Context(), delegation.Grant{Execution: s.id, BornMs: born, Caller: c.caller, Request: c.request})
		var refusal *delegation.Refusal
		require.ErrorAs(t, err, &refusal, name)
		require.ErrorIs(t, err, delegation.ErrRefused, name)
		require.Equal(t, c.field, refusal.Field, name)
		known := s.broker.Check(delegation.Grant{Execution: s.id, BornMs: born, Caller: c.caller, Request: c.request})
		require.Equal(t, c.field != "", known != nil, "%s: what needs no server is refused without one", name)
		require.Empty(t, s.dump(), name)
	}
}

func TestAServerThatIsDownIsUnavailableAndNothingIsLost(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	lease := s.established()
	s.issuer.Down.Store(true)
	_, err := s.broker.Establish(t.Context(), delegation.Grant{
		Execution: execution.NewID(9), Caller: execution.NewCredential("token"),
	})
	require.ErrorIs(t, err, delegation.ErrUnavailable)
	require.ErrorIs(t, s.broker.Revoke(t.Context(), s.id, born), delegation.ErrUnavailable)
	require.Len(t, s.dump(), 1, "what is to be revoked is not forgotten")
	s.issuer.Down.Store(false)
	_, err = s.broker.Token(t.Context(), s.id, lease.Ref)
	require.NoError(t, err)
	require.NoError(t, s.broker.Revoke(t.Context(), s.id, born))
	s.forgotten()
}

func TestAWrongClientSecretIsTheOperatorsFaultAndNotTheCallers(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(cfg *delegation.ExchangeConfig) { cfg.ClientSecret = execution.NewCredential("wrong") })
	_, err := s.establish(s.issuer.SignIn(t, delegationtest.User))
	require.ErrorIs(t, err, delegation.ErrUnavailable)
	require.NotErrorIs(t, err, delegation.ErrRefused)
}

func TestNoSecretIsInRedisInAnErrorOrInALog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newScene(t, func(cfg *delegation.ExchangeConfig) {
		cfg.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	caller := s.issuer.SignIn(t, delegationtest.User)
	lease, err := s.establish(caller)
	require.NoError(t, err)
	token, err := s.broker.Token(t.Context(), s.id, lease.Ref)
	require.NoError(t, err)
	seen := fmt.Sprintf("%v %+v %#v %v %s", lease, lease, lease, token, caller)
	for key, value := range s.dump() {
		seen += key + value
	}
	s.issuer.Down.Store(true)
	_, err = s.establish(caller)
	seen += fmt.Sprint(err, s.broker.Revoke(t.Context(), s.id, born)) + log.String()
	for _, secret := range []string{
		caller.Reveal(), token.Value.Reveal(), string(lease.Ref), delegationtest.ClientSecret,
	} {
		require.NotContains(t, seen, secret)
	}
	_, err = json.Marshal(token)
	require.Error(t, err, "a credential cannot be encoded")
}

func TestKeysAreChangedByPuttingANewOneInFront(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	lease := s.established()
	ring := func(keys ...string) func(*delegation.ExchangeConfig) {
		return func(cfg *delegation.ExchangeConfig) {
			var err error
			cfg.Keyring, err = delegation.NewKeyring(keys...)
			require.NoError(t, err)
		}
	}
	both := s.at(ring(delegationtest.Key(1), delegationtest.Key(0)))
	_, err := both.Token(t.Context(), s.id, lease.Ref)
	require.NoError(t, err)
	other := s.at(ring(delegationtest.Key(1)))
	_, err = other.Token(t.Context(), s.id, lease.Ref)
	require.ErrorIs(t, err, delegation.ErrLost)
	require.NoError(t, other.Revoke(t.Context(), s.id, born), "what nobody can open is forgotten")
	s.forgotten()
}

func TestConfigsNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{}, {"short"}, {delegationtest.Key(0), "AAAA"}} {
		_, err := delegation.NewKeyring(keys...)
		require.Error(t, err)
	}
	keys, err := delegation.NewKeyring(delegationtest.Key(0))
	require.NoError(t, err)
	good := delegation.ExchangeConfig{
		TokenURL: "https://login.example.com/token", ClientID: "pawl", Keyring: keys,
		Vault: redisvault.New(nil, "pawl"),
	}
	_, err = delegation.NewExchange(good)
	require.NoError(t, err)
	for part, change := range map[string]func(*delegation.ExchangeConfig){
		"TokenURL":  func(cfg *delegation.ExchangeConfig) { cfg.TokenURL = "http://login.example.com/token" },
		"RevokeURL": func(cfg *delegation.ExchangeConfig) { cfg.RevokeURL = "https://a:b@login.example.com" },
		"ClientID":  func(cfg *delegation.ExchangeConfig) { cfg.ClientID = "" },
		"Vault":     func(cfg *delegation.ExchangeConfig) { cfg.Vault = nil },
	} {
		cfg := good
		change(&cfg)
		_, err = delegation.NewExchange(cfg)
		require.ErrorContains(t, err, part)
	}
	_, err = delegation.NewStatic("", delegation.Allowed{})
	require.Error(t, err)
}

// TestAnswersOfServers drives what real servers say in trouble: none of it may be taken for a token, or be passed on.
func TestAnswersOfServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
		want   error
	}{
		"a redirect":         {http.StatusFound, "text/html", "", delegation.ErrUnavailable},
		"too many":           {http.StatusTooManyRequests, "application/json", `{}`, delegation.ErrUnavailable},
		"broken":             {http.StatusBadGateway, "text/html", "<p>token</p>", delegation.ErrUnavailable},
		"an empty answer":    {http.StatusOK, "application/json", ``, delegation.ErrUnavailable},
		"no token":           {http.StatusOK, "application/json", `{"access_token":""}`, delegation.ErrUnavailable},
		"a page":             {http.StatusOK, "text/html", `<p>log in</p>`, delegation.ErrUnavailable},
		"line breaks":        {http.StatusOK, "application/json", `{"access_token":"x\r\ny"}`, delegation.ErrUnavailable},
		"endless":            {http.StatusOK, "application/json", strings.Repeat(" ", 1<<20), delegation.ErrUnavailable},
		"another kind":       {http.StatusOK, "application/json", `{"access_token":"x","token_type":"mac"}`, delegation.ErrRefused},
		"a wrong target":     {http.StatusBadRequest, "application/json", `{"error":"invalid_target"}`, delegation.ErrRefused},
		"a wrong scope":      {http.StatusBadRequest, "application/json", `{"error":"invalid_scope"}`, delegation.ErrRefused},
		"a wrong client":     {http.StatusUnauthorized, "application/json", `{"error":"invalid_client"}`, delegation.ErrUnavailable},
		"words of its own":   {http.StatusForbidden, "application/json", `{"error":"no","error_description":"subject-token"}`, delegation.ErrRefused},
		"an answer of noise": {http.StatusBadRequest, "text/plain", "subject-token is bad", delegation.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body)) // a reader that has gone away is what is tested
			}))
			defer server.Close()
			s := newScene(t, func(cfg *delegation.ExchangeConfig) { cfg.TokenURL = server.URL })
			_, err := s.establish(execution.NewCredential("subject-token"))
			require.ErrorIs(t, err, c.want)
			require.NotContains(t, err.Error(), "subject-token")
			require.Empty(t, s.dump())
		})
	}
}

// TestHowLongATokenLasts: servers say it in odd ways.
func TestHowLongATokenLasts(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]time.Duration{
		`300`: 5 * time.Minute, `"300"`: 5 * time.Minute, `1`: time.Second, `9.3e15`: 10 * 365 * 24 * time.Hour, `null`: 0, `-5`: 0,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"access_token":"x","token_type":"Bearer","expires_in":%s}`, said)
		}))
		now := time.Now()
		s := newScene(t, func(cfg *delegation.ExchangeConfig) {
			cfg.TokenURL, cfg.RevokeURL, cfg.Now = server.URL, "", func() time.Time { return now }
		})
		lease, err := s.establish(execution.NewCredential("subject-token"))
		server.Close()
		require.NoError(t, err, said)
		require.Equal(t, want == 0, lease.ExpiresAt.IsZero(), said)
		if want > 0 {
			require.Equal(t, now.Add(want).UnixMilli(), lease.ExpiresAt.UnixMilli(), said)
		}
		_, err = s.broker.Token(t.Context(), s.id, lease.Ref)
		require.NoError(t, err, "%s: however short it is, it is good when it comes", said)
	}
}

func TestACallerThatGoesAwayDoesNotLoseWhatTheServerGave(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	gone := s.at(func(cfg *delegation.ExchangeConfig) {
		cfg.HTTP = &http.Client{Transport: leaving{cancel}}
	})
	lease, err := gone.Establish(ctx, delegation.Grant{Execution: s.id, BornMs: born, Caller: s.issuer.SignIn(t, delegationtest.User)})
	require.NoError(t, err)
	_, err = s.broker.Token(t.Context(), s.id, lease.Ref)
	require.NoError(t, err)
}

// leaving has the caller go away as soon as the server has answered.
type leaving struct{ cancel context.CancelFunc }

func (l leaving) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	l.cancel()
	return response, err
}

func TestTheStaticBrokerGivesItsTokenToAll(t *testing.T) {
	t.Parallel()
	broker, err := delegation.NewStatic("static-token", delegation.Allowed{Scopes: []string{"read"}})
	require.NoError(t, err)
	id := execution.NewID(3)
	_, err = broker.Establish(t.Context(), delegation.Grant{Execution: id, BornMs: born, Request: execution.DelegationRequest{Scopes: []string{"write"}}})
	require.ErrorIs(t, err, delegation.ErrRefused)
	lease, err := broker.Establish(t.Context(), delegation.Grant{Execution: id})
	require.NoError(t, err)
	token, err := broker.Token(t.Context(), id, lease.Ref)
	require.NoError(t, err)
	require.Equal(t, "static-token", token.Value.Reveal())
	require.NotContains(t, fmt.Sprintf("%+v", broker), "static-token")
	require.NoError(t, broker.Revoke(t.Context(), id, born))
}
