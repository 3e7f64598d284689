package auth_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/oidctest"
)

// from is a request from the address, with what proxies say in X-Forwarded-For.
func from(t *testing.T, remote string, forwarded ...string) *http.Request {
	t.Helper()
	r := request(t, http.MethodPost, "")
	r.RemoteAddr = remote
	for _, value := range forwarded {
		r.Header.Add("X-Forwarded-For", value)
	}
	return r
}

func TestAFloodOfLoginsIsRefusedBeforeRedisIsAsked(t *testing.T) {
	t.Parallel()
	in := install(t, func(c *auth.Config) { c.LoginRate = 3 })
	_, text := in.key(t)
	login := func(remote string) error {
		_, _, err := in.Login(from(t, remote), text)
		return err
	}
	for i := range 3 {
		require.NoError(t, login(fmt.Sprintf("10.1.2.3:%d", 1000+i)))
	}
	sessions, err := in.rdb.Keys(t.Context(), in.prefix+":session:*").Result()
	require.NoError(t, err)
	for range 5 {
		api := refused(t, login("10.1.2.3:1"), execution.Overloaded)
		require.Positive(t, api.retryAfter)
		require.LessOrEqual(t, api.retryAfter, time.Minute)
	}
	after, err := in.rdb.Keys(t.Context(), in.prefix+":session:*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, sessions, after)
	require.NoError(t, login("10.1.2.4:1"), "others log in")
	r := request(t, http.MethodGet, text)
	r.RemoteAddr = "10.1.2.3:1"
	_, err = in.Enter(r)
	require.NoError(t, err, "a key that comes with its request logs nobody in")
}

func TestAFloodOfLoginsAtTheIssuerIsRefused(t *testing.T) {
	t.Parallel()
	in := signIn(t, oidctest.New(t, oidctest.Behavior{}))
	limited, err := auth.New(in.rdb, auth.Config{KeysConfig: auth.KeysConfig{Prefix: in.prefix}, Issuer: in.issuer, LoginRate: 2})
	require.NoError(t, err)
	_, err = limited.BeginLogin(from(t, "10.1.2.3:1"), back, "")
	require.NoError(t, err)
	_, err = limited.FinishLogin(from(t, "10.1.2.3:1"), back)
	refused(t, err, execution.Unauthenticated)
	_, err = limited.BeginLogin(from(t, "10.1.2.3:1"), back, "")
	refused(t, err, execution.Overloaded)
	_, err = limited.FinishLogin(from(t, "10.1.2.3:1"), back)
	refused(t, err, execution.Overloaded)
}

func TestOnlyProxiesSayWhereALoginComesFrom(t *testing.T) {
	t.Parallel()
	const proxy, other = "192.0.2.1:1", "198.51.100.9:1"
	for name, test := range map[string]struct {
		first, second *http.Request
		same          bool
	}{
		"two behind one proxy":                         {from(t, proxy, "10.0.0.1"), from(t, proxy, "10.0.0.2"), false},
		"one behind one proxy":                         {from(t, proxy, "10.0.0.1"), from(t, proxy, "10.0.0.1:99"), true},
		"what the client wrote itself":                 {from(t, proxy, "1.1.1.1, 10.0.0.1"), from(t, proxy, "2.2.2.2, 10.0.0.1"), true},
		"what the client wrote itself, in two headers": {from(t, proxy, "1.1.1.1", "10.0.0.1"), from(t, proxy, "2.2.2.2", "10.0.0.1"), true},
		"a chain of proxies":                           {from(t, proxy, "10.0.0.1, 192.0.2.7"), from(t, proxy, "10.0.0.2, 192.0.2.7"), false},
		"somebody who is no proxy":                     {from(t, other, "10.0.0.1"), from(t, other, "10.0.0.2"), true},
		"nonsense from a proxy":                        {from(t, proxy, "unknown"), from(t, proxy, "1.1.1.1, unknown"), true},
		"a proxy that says nothing":                    {from(t, proxy), from(t, "192.0.2.1:2"), true},
		"one host's addresses":                         {from(t, proxy, "2001:db8::1"), from(t, proxy, "[2001:db8::2]:1"), true},
		"a mapped proxy":                               {from(t, "[::ffff:192.0.2.1]:1", "10.0.0.1"), from(t, proxy, "10.0.0.2"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := install(t, func(c *auth.Config) {
				c.LoginRate, c.Proxies = 1, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
			})
			_, text := in.key(t)
			_, _, err := in.Login(test.first, text)
			require.NoError(t, err)
			_, _, err = in.Login(test.second, text)
			if test.same {
				refused(t, err, execution.Overloaded)
				return
			}
			require.NoError(t, err)
		})
	}
}
