package redisconn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse_ReadsEveryForm(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Target{
		"redis://localhost":                {Mode: Standalone, Addrs: []string{"localhost:6379"}},
		"redis://127.0.0.1:7000/3":         {Mode: Standalone, Addrs: []string{"127.0.0.1:7000"}, DB: 3},
		"redis://[::1]:7000":               {Mode: Standalone, Addrs: []string{"[::1]:7000"}},
		"redis://[::1]":                    {Mode: Standalone, Addrs: []string{"[::1]:6379"}},
		"redis://:6380":                    {Mode: Standalone, Addrs: []string{"localhost:6380"}},
		"redis://:p%40ss@h:1":              {Mode: Standalone, Addrs: []string{"h:1"}, Password: "p@ss"},
		"redis://u:p@ss@h:1/":              {Mode: Standalone, Addrs: []string{"h:1"}, Username: "u", Password: "p@ss"},
		"rediss://u:p@h:1?db=2":            {Mode: Standalone, Addrs: []string{"h:1"}, Username: "u", Password: "p", DB: 2, TLS: true},
		"redis+sentinel://a:1,b/main":      {Mode: Sentinel, Addrs: []string{"a:1", "b:26379"}, Master: "main"},
		"redis+sentinel://u:p@a:1,b:2/m/4": {Mode: Sentinel, Addrs: []string{"a:1", "b:2"}, Master: "m", Username: "u", Password: "p", DB: 4},
		"rediss+sentinel://a:1/m":          {Mode: Sentinel, Addrs: []string{"a:1"}, Master: "m", TLS: true},
		"redis+cluster://a:1,b:2,c:3":      {Mode: Cluster, Addrs: []string{"a:1", "b:2", "c:3"}},
		"redis+cluster://u:p@a:1?tls=true": {Mode: Cluster, Addrs: []string{"a:1"}, Username: "u", Password: "p", TLS: true},
		"redis://h?read_timeout=1s":        {Mode: Standalone, Addrs: []string{"h:6379"}, ReadTimeout: time.Second},
		"redis://h?pool_size=7":            {Mode: Standalone, Addrs: []string{"h:6379"}, PoolSize: 7},
		"rediss://h?tls_skip_verify=1":     {Mode: Standalone, Addrs: []string{"h:6379"}, TLS: true, SkipVerify: true},
		"redis://h?dial_timeout=1s":        {Mode: Standalone, Addrs: []string{"h:6379"}, DialTimeout: time.Second},
		"redis://h?write_timeout=20ms":     {Mode: Standalone, Addrs: []string{"h:6379"}, WriteTimeout: 20 * time.Millisecond},
		"redis+sentinel://a/m?db=2":        {Mode: Sentinel, Addrs: []string{"a:26379"}, Master: "m", DB: 2},
		"redis+sentinel://a/m?sentinel_username=s&sentinel_password=t@u": {
			Mode: Sentinel, Addrs: []string{"a:26379"}, Master: "m", SentinelUsername: "s", SentinelPassword: "t@u",
		},
	} {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			target, err := Parse(raw)
			require.NoError(t, err)
			require.Equal(t, want, target)
		})
	}
}

func TestParse_RefusesWithoutShowingThePassword(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                                      "no scheme",
		"localhost:6379":                        "no scheme",
		"http://hunter2@h":                      "unknown scheme",
		"redis://":                              "is no host:port",
		"redis://:hunter2@h:port":               "is no host:port",
		"redis://:hunter2@h:70000":              "is no host:port",
		"redis://:hunter2@h/x":                  "is not a number",
		"redis://:hunter2@h/-1":                 "is not a number",
		"redis://:hunter2@a,b":                  "several hosts need",
		"redis://hunter2@h":                     "want user:password@",
		"redis://:hunter2%zz@h":                 "not percent-encoded",
		"redis://:hunter2@h?poolsize=3":         "unknown option",
		"redis://:hunter2@h?pool_size=0":        "pool_size",
		"redis://:hunter2@h?read_timeout=5":     "read_timeout: want a duration",
		"redis://:hunter2@h?tls=perhaps":        "tls: want true or false",
		"redis://:hunter2@h?sentinel_username=": "",
		"redis://h?sentinel_password=hunter2":   "belong to redis+sentinel",
		"redis+sentinel://:hunter2@a:1":         "name the master",
		"redis+sentinel://:hunter2@a:1,/m":      "is no host:port",
		"redis+cluster://:hunter2@a:1/1":        "only database 0",
		// As generators of passwords give them, without the escapes that a URL needs.
		"redis://:hunter2/@h:1":             "must be percent-encoded",
		"redis://:1/hunter2@h:1":            "must be percent-encoded",
		"redis://u:hunter2/3x@h:1":          "must be percent-encoded",
		"redis://u:hunter2?x@h:1":           "must be percent-encoded",
		"redis://:1?hunter2@h:1":            "must be percent-encoded",
		"redis://:1?db=hunter2@h":           "must be percent-encoded",
		"redis+sentinel://:1/hunter2@a:1/m": "must be percent-encoded",
		"redis+sentinel://:1/hunter2@a:1":   "must be percent-encoded",
		"redis+cluster://:hunter2/@a:1":     "must be percent-encoded",
		"redis://:hunter2":                  "is no host:port",
	} {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(raw)
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestRedact_KeepsWhatHelpsAndHidesTheRest(t *testing.T) {
	t.Parallel()
	require.Equal(t, "redis://h:1/2", Redact("redis://h:1/2"))
	require.Equal(t, "rediss+sentinel://[redacted]@h:1/m/2", Redact("rediss+sentinel://u:hunter2@h:1/m/2?sentinel_password=hunter2"))
	require.Equal(t, "redis+sentinel://[redacted]@a:1,b:2/m", Redact("redis+sentinel://:hunter2@a:1,b:2/m"))
	require.Equal(t, "[redacted]", Redact("hunter2"))
	for _, raw := range []string{
		"redis://:hunter2/@h:1", "redis://:1/hunter2@h:1", "redis://u:hunter2?x@h:1", "redis://:hunter2",
		"redis+sentinel://:1/hunter2@a:1", "redis+sentinel://:1/hunter2@a:1/m",
	} {
		require.NotContains(t, Redact(raw), "hunter2")
	}
}

func TestOptions_HoldEnoughConnectionsAndObeyDeadlines(t *testing.T) {
	t.Parallel()
	target, err := Parse("redis://h?pool_size=5")
	require.NoError(t, err)
	options := target.options(Config{Concurrency: 50})
	require.Equal(t, 60, options.PoolSize)
	require.True(t, options.ContextTimeoutEnabled)
	require.Positive(t, options.ReadTimeout)
	require.Equal(t, minPool, target.options(Config{}).PoolSize)
}
