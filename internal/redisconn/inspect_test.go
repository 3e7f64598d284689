package redisconn

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
)

func open(t *testing.T, url string) redis.UniversalClient {
	t.Helper()
	client, err := Open(Config{URL: url, ClientName: "pawl-test"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func TestInspect_AFitRedisHasNoWarnings(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "100mb")
	facts, err := Inspect(t.Context(), open(t, server.URL()))
	require.NoError(t, err)
	require.Empty(t, facts.Warnings)
	require.NoError(t, facts.Strict())
	require.Equal(t, "always", facts.AppendFsync)
	require.Equal(t, "yes", facts.AppendOnly)
	require.Equal(t, "none", facts.Snapshots)
	require.Equal(t, "standalone", facts.Mode)
	require.Equal(t, int64(100<<20), facts.MaxMemory)
}

func TestInspect_AnUnfitRedisIsNamedPointByPoint(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	facts, err := Inspect(t.Context(), open(t, server.URL()))
	require.NoError(t, err)
	require.Len(t, facts.Warnings, 2)
	require.ErrorIs(t, facts.Strict(), ErrUnfit)
	require.ErrorContains(t, facts.Strict(), "noeviction")
	require.ErrorContains(t, facts.Strict(), "persistence is off")
}

func TestInspect_WhatACrashMayLoseIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a stock redis-server": {
			[]string{"--save", "3600 1 300 100 60 10000"},
			"there are snapshots only: a crash may lose minutes of what was answered 202; set appendonly yes",
		},
		"a file that is not synced": {
			[]string{"--appendonly", "yes", "--appendfsync", "no"}, "set appendfsync everysec or always",
		},
		"nothing": {nil, "persistence is off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts, err := Inspect(t.Context(), open(t, redistest.Start(t, c.args...).URL()))
			require.NoError(t, err)
			require.Len(t, facts.Warnings, 1)
			require.Contains(t, facts.Warnings[0], c.want)
			require.ErrorIs(t, facts.Strict(), ErrUnfit)
			require.ErrorContains(t, facts.Strict(), c.want)
		})
	}
	facts, err := Inspect(t.Context(), open(t, redistest.Start(t, "--appendonly", "yes", "--appendfsync", "everysec").URL()))
	require.NoError(t, err)
	require.NoError(t, facts.Strict())
}

func TestInspect_ARefusedCONFIGLeavesFactsUnknown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--rename-command", "CONFIG", "", "--maxmemory-policy", "volatile-lru")
	facts, err := Inspect(t.Context(), open(t, server.URL()))
	require.NoError(t, err)
	require.Equal(t, Unknown, facts.AppendFsync)
	require.Equal(t, Unknown, facts.Snapshots)
	require.Equal(t, "no", facts.AppendOnly)
	require.Len(t, facts.Warnings, 1, "the policy is told by INFO; persistence may be on")
}

func TestInspect_ASilentRedisIsAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := open(t, server.URL())
	server.Kill()
	_, err := Inspect(t.Context(), client)
	require.Error(t, err)
}

func TestWarnings_JudgeTheVersion(t *testing.T) {
	t.Parallel()
	for version, warnings := range map[string]int{"6.2.14": 1, "7.0.15": 0, "8.0.0": 0, "10.1": 0, Unknown: 0} {
		facts := factsOf(map[string]string{"redis_version": version}, nil)
		require.Len(t, warningsOf(facts), warnings, version)
	}
}

func TestFactsOf_AValkeyIsShownAsWhatItIs(t *testing.T) {
	t.Parallel()
	facts := factsOf(map[string]string{
		"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.1", "server_mode": "cluster",
	}, nil)
	require.Equal(t, "valkey", facts.Server)
	require.Equal(t, "8.1.1", facts.Version)
	require.Equal(t, "cluster", facts.Mode)
	require.Empty(t, warningsOf(facts))
}

func TestMerge_NamesTheMasterOfAWarning(t *testing.T) {
	t.Parallel()
	all := merge(Facts{}, Facts{Version: "7.0", Nodes: 1, Warnings: []string{"x"}}, "a:1")
	all = merge(all, Facts{Version: "7.2", Nodes: 1, Warnings: []string{"y"}}, "b:1")
	require.Equal(t, Facts{Version: "7.0", Nodes: 2, Warnings: []string{"a:1: x", "b:1: y"}}, all)
}
