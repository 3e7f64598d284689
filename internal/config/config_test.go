package config

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests that read the environment set it, so they cannot be parallel.

func clean(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, prefix) {
			t.Setenv(name, value)
			require.NoError(t, os.Unsetenv(name))
		}
	}
}

func TestLoad_DefaultsAreThoseOfTheManual(t *testing.T) { //nolint:paralleltest // clean sets the environment
	clean(t)
	var dev Dev
	require.NoError(t, Load(&dev))
	require.Equal(t, "127.0.0.1:8080", dev.Addr)
	require.Equal(t, Size(1<<20), dev.MaxBody)
	require.Equal(t, 50, dev.Concurrency)
	require.Equal(t, 15*time.Second, dev.ClaimTTL)
	require.Equal(t, time.Second, dev.ReapInterval)
	require.Equal(t, 5*time.Second, dev.HandoffGrace)
	require.Equal(t, 30*time.Second, dev.DrainTimeout)
	require.Equal(t, 30*time.Second, dev.CleanupTimeout)
	require.Equal(t, 5, dev.MaxReclaims)
	require.Equal(t, 168*time.Hour, dev.Retention)
	require.Equal(t, 100_000, dev.MaxEvents)
	require.Equal(t, ".pawl", dev.DataDir)
	require.Equal(t, LogLevel(slog.LevelInfo), dev.Level)
	require.Empty(t, dev.Format)
	require.Empty(t, dev.Queues)
	require.Equal(t, Auth{Auth: AuthNone, OIDCTenant: "tenant", OIDCSubject: "sub", OIDCRole: "role", OIDCLogin: OIDCLogin{Scopes: []string{"openid"}}, Logins: Logins{LoginRate: 120}}, dev.Auth)
	var client Client
	require.NoError(t, Load(&client))
	require.Equal(t, "http://127.0.0.1:8080", client.URL)
}

func TestLoad_RefusesAndNamesTheVariable(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"PAWL_CONCURRENCY", "many", `PAWL_CONCURRENCY: want a whole number, have "many"`},
		{"PAWL_CONCURRENCY", "0", "PAWL_CONCURRENCY: want a whole number from 1"},
		{"PAWL_CLAIM_TTL", "15", `PAWL_CLAIM_TTL: want a duration such as`},
		{"PAWL_CLAIM_TTL", "100ms", "PAWL_CLAIM_TTL: want at least 1s"},
		{"PAWL_STRICT", "maybe", `PAWL_STRICT: want 1 or 0`},
		{"PAWL_NODES_PER_TASK", "65", "PAWL_NODES_PER_TASK: want a whole number from 1 to 64"},
		{"PAWL_WORKER_QUEUES", "high,lo w", `PAWL_WORKER_QUEUES: "lo w"`},
		{"PAWL_WORKER_QUEUES", "high,", `PAWL_WORKER_QUEUES: ""`},
		{"PAWL_WORKER_QUEUES", "suspect", "PAWL_WORKER_QUEUES: suspect is served beside another queue"},
		{"PAWL_LOG_LEVEL", "loud", "PAWL_LOG_LEVEL: want debug, info, warn or error"},
		{"PAWL_ADMIN_ADDR", "9090", "PAWL_ADMIN_ADDR: want host:port"},
		{"PAWL_CLAIM_TLL", "2s", "PAWL_CLAIM_TLL: no program of Pawl knows this name: did you mean PAWL_CLAIM_TTL?"},
		{"PAWL_WHATEVER_ELSE", "2s", "PAWL_WHATEVER_ELSE: no program of Pawl knows this name; -h"},
	} {
		t.Run(fmt.Sprintf("%s=%s", tc.name, tc.value), func(t *testing.T) {
			clean(t)
			t.Setenv("PAWL_REDIS_URL", "redis://:hunter2@localhost:6379")
			t.Setenv(tc.name, tc.value)
			err := Load(&Worker{})
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestLoad_RefusesWhatDoesNotGoTogether(t *testing.T) {
	const issuer, audience = "PAWL_OIDC_ISSUER=https://login.example.com", "PAWL_OIDC_AUDIENCE=pawl"
	const keys, origins = "PAWL_AUTH=keys", "PAWL_CORS_ORIGINS="
	const client, redirect = "PAWL_OIDC_CLIENT_ID=pawl-dashboard", "PAWL_OIDC_REDIRECT_URL="
	for _, tc := range []struct {
		want string
		env  []string
	}{
		{"", []string{keys}},
		{"", []string{keys, issuer, audience, origins + "https://app.example.com,http://localhost:5173"}},
		{"", []string{keys, "PAWL_OIDC_ISSUER=http://127.0.0.1:9000/realm", audience, origins + "*"}},
		{"", []string{origins + "http://localhost:5173"}},
		{`PAWL_AUTH: want none or keys, have "token"`, []string{"PAWL_AUTH=token"}},
		{"", []string{keys, "PAWL_LOGIN_RATE=0", "PAWL_TRUSTED_PROXIES=10.1.0.0/16,2001:db8::1"}},
		{"PAWL_LOGIN_RATE: want a whole number from 0", []string{keys, "PAWL_LOGIN_RATE=-1"}},
		{"PAWL_TRUSTED_PROXIES needs PAWL_AUTH=keys", []string{"PAWL_TRUSTED_PROXIES=10.1.0.0/16"}},
		{`PAWL_TRUSTED_PROXIES: want networks by comma such as 10.1.0.0/16, have "proxy"`, []string{keys, "PAWL_TRUSTED_PROXIES=10.1.0.0/16,proxy"}},
		{"PAWL_TRUSTED_PROXIES: 0.0.0.0/0 are no proxies", []string{keys, "PAWL_TRUSTED_PROXIES=10.1.0.0/16,0.0.0.0/0"}},
		{"PAWL_OIDC_ISSUER needs PAWL_AUTH=keys", []string{issuer, audience}},
		{"PAWL_OIDC_AUDIENCE is required", []string{keys, issuer}},
		{"PAWL_OIDC_AUDIENCE: there is no", []string{keys, audience}},
		{"PAWL_OIDC_ISSUER: want https", []string{keys, "PAWL_OIDC_ISSUER=http://login.example.com", audience}},
		{"PAWL_OIDC_ISSUER: want an address", []string{keys, "PAWL_OIDC_ISSUER=login", audience}},
		{"", []string{keys, issuer, audience, client, "PAWL_OIDC_CLIENT_SECRET=x", "PAWL_OIDC_SCOPES=openid,email"}},
		{"", []string{keys, issuer, audience, client, redirect + "http://localhost:8080/dashboard/login/callback"}},
		{"PAWL_OIDC_CLIENT_ID: there is no PAWL_OIDC_ISSUER", []string{keys, client}},
		{"there is no PAWL_OIDC_CLIENT_ID", []string{keys, issuer, audience, "PAWL_OIDC_CLIENT_SECRET=hunter2"}},
		{"there is no PAWL_OIDC_CLIENT_ID", []string{keys, issuer, audience, redirect + "https://x/dashboard/login/callback"}},
		{"PAWL_OIDC_REDIRECT_URL: want an address", []string{keys, issuer, audience, client, redirect + "https://x/dashboard"}},
		{"PAWL_OIDC_REDIRECT_URL: want https", []string{keys, issuer, audience, client, redirect + "http://x/dashboard/login/callback"}},
		{"PAWL_OIDC_SCOPES: want scopes by comma", []string{keys, issuer, audience, client, "PAWL_OIDC_SCOPES=openid email"}},
		{"PAWL_CORS_ORIGINS: * needs PAWL_AUTH=keys", []string{origins + "*"}},
		{`have "https://app.example.com/"`, []string{origins + "https://app.example.com/"}},
		{`have "app.example.com"`, []string{origins + "app.example.com"}},
		{`have "https://*.example.com"`, []string{keys, origins + "https://*.example.com"}},
		{`have "null"`, []string{keys, origins + "null"}},
	} {
		t.Run(strings.Join(tc.env, " "), func(t *testing.T) {
			clean(t)
			t.Setenv("PAWL_REDIS_URL", "redis://localhost:6379")
			t.Setenv("PAWL_AGENTS", "agents.yaml")
			for _, entry := range tc.env {
				name, value, _ := strings.Cut(entry, "=")
				t.Setenv(name, value)
			}
			var api API
			err := Load(&api)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestNearest_IsWhatWasMeant(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"PAWL_API_URL":      "PAWL_A2A_URL or PAWL_URL",
		"PAWL_APIKEY":       "PAWL_API_KEY",
		"PAWL_REDIS":        "PAWL_REDIS_URL",
		"PAWL_REDIS_URI":    "PAWL_REDIS_URL",
		"PAWL_CLAIMTTL":     "PAWL_CLAIM_TTL",
		"PAWL_AGENTS_FILE":  "PAWL_AGENTS",
		"PAWL_AGENT":        "PAWL_AGENTS",
		"PAWL_ADDR":         "PAWL_ADMIN_ADDR or PAWL_HTTP_ADDR",
		"PAWL_TIMEOUT":      "PAWL_CLEANUP_TIMEOUT or PAWL_DELEGATION_TIMEOUT or PAWL_DRAIN_TIMEOUT",
		"PAWL_QUEUES":       "PAWL_WORKER_QUEUES",
		"PAWL_LOGLEVEL":     "PAWL_LOG_LEVEL",
		"PAWL_MAX_RECLAIM":  "PAWL_MAX_RECLAIMS",
		"PAWL_":             "",
		"PAWL_WHATEVER":     "",
		"PAWL_SOMETHING_IS": "",
	} {
		require.Equal(t, want, strings.Join(nearest(name, Names()), " or "), name)
	}
}

func TestLoad_RequiresTheRedisURL(t *testing.T) {
	clean(t)
	require.ErrorContains(t, Load(&Reaper{}), "PAWL_REDIS_URL is required")
	t.Setenv("PAWL_REDIS_URL", "")
	require.ErrorContains(t, Load(&Reaper{}), "PAWL_REDIS_URL is required")
}

func TestLoad_IgnoresNamesOfOtherProgramsAndOfServiceLinks(t *testing.T) {
	clean(t)
	t.Setenv("PAWL_REDIS_URL", "redis://localhost")
	t.Setenv("PAWL_HTTP_ADDR", "not even an address")
	t.Setenv("PAWL_REDIS_SERVICE_HOST", "10.0.0.1")
	t.Setenv("PAWL_REDIS_SERVICE_PORT_MAIN", "6379")
	t.Setenv("PAWL_REDIS_PORT", "tcp://10.0.0.1:6379")
	t.Setenv("PAWL_REDIS_PORT_6379_TCP_ADDR", "10.0.0.1")
	require.NoError(t, Load(&Worker{}))
}

func TestLoad_TakesAnEmptyValueAsUnset(t *testing.T) {
	clean(t)
	t.Setenv("PAWL_REDIS_URL", "redis://localhost")
	t.Setenv("PAWL_CONCURRENCY", "")
	var worker Worker
	require.NoError(t, Load(&worker))
	require.Equal(t, 50, worker.Concurrency)
}

func TestUsage_ListsEveryNameWithItsMeaning(t *testing.T) {
	t.Parallel()
	for _, program := range []any{&API{}, &Worker{}, &Reaper{}, &Dev{}, &Keys{}, &Client{}} {
		var out bytes.Buffer
		require.NoError(t, Usage(&out, program))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
		require.Len(t, lines, len(namesOf(program)))
		for i, name := range namesOf(program) {
			fields := strings.Fields(lines[i])
			require.Equal(t, name, fields[0])
			require.Greater(t, len(fields), 3, lines[i])
		}
	}
}

func TestSecret_PrintsRedacted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	store := Store{RedisURL: "redis://:hunter2@h"}
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "url", store.RedisURL)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "store", store, "url", store.RedisURL)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s %x", store, store, store, store.RedisURL, store.RedisURL)+log.String(), "hunter2")
}

func TestSize_ReadsUnits(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]Size{"1": 1, "2KiB": 2048, "1 MiB": 1 << 20, "3GiB": 3 << 30, "10B": 10} {
		var size Size
		require.NoError(t, size.Decode(value), value)
		require.Equal(t, want, size)
	}
	for _, value := range []string{"", "x", "-1", "0", "1MB", "9999999999GiB"} {
		require.Error(t, new(Size).Decode(value), value)
	}
}
