package auth_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

const (
	patience = 30 * time.Second
	trust    = 100 * time.Millisecond // of what was read of a key
)

func TestMain(m *testing.M) {
	// A pool whose server was killed looks for it once a second, and sees only then that it was closed.
	dialing := goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
	redistest.Main(m, func() error { return goleak.Find(dialing) })
}

// installation is one Redis as two API processes see it.
type installation struct {
	*auth.Gate
	other  *auth.Gate
	issuer *auth.Issuer // signIn's
	rdb    *redis.Client
	prefix string
}

func install(t *testing.T, change ...func(*auth.Config)) installation {
	t.Helper()
	in := installation{prefix: redistest.Prefix(), rdb: redistest.Shared(t).Client(t)}
	gate := func() *auth.Gate {
		cfg := auth.Config{
			KeysConfig: auth.KeysConfig{Prefix: in.prefix, CacheTTL: trust}, Logger: slog.New(slog.DiscardHandler),
		}
		for _, f := range change {
			f(&cfg)
		}
		g, err := auth.New(in.rdb, cfg)
		require.NoError(t, err)
		return g
	}
	in.Gate, in.other = gate(), gate()
	return in
}

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// key makes a key of acme's ann.
func (in installation) key(t *testing.T, change ...func(*auth.NewKey)) (auth.Key, string) {
	t.Helper()
	asked := auth.NewKey{Tenant: "acme", Subject: "ann", Role: execution.SubmitRole}
	for _, f := range change {
		f(&asked)
	}
	key, text, err := in.Keys.Create(bounded(t), asked)
	require.NoError(t, err)
	return key, text
}

// request is one with a bearer credential, if there is one, and headers as name and value.
func request(t testing.TB, method, credential string, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(bounded(t), method, "http://pawl.example/v1/executions", nil)
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// refusal is what an error of the gate says.
type refusal struct {
	field, detail string
	retryAfter    time.Duration
	cause         error
}

// refused asserts the code of an error and gives what it says.
func refused(t testing.TB, err error, code execution.ErrorCode) refusal {
	t.Helper()
	var api *execution.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, code, api.Code, "%v", err)
	require.NotEmpty(t, api.Detail)
	return refusal{field: api.Field, detail: api.Detail, retryAfter: api.RetryAfter, cause: api.Cause()}
}

var ann = execution.Authority{
	Caller: execution.CallerScope{Tenant: "acme", Subject: "ann"}, Role: execution.SubmitRole,
}
