package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

// The tests set the environment, so they cannot be parallel.

func typeKeys(t *testing.T, args ...string) result {
	t.Helper()
	return typeCommand(t, newFake(execution.View{}), false, nil, append([]string{"keys"}, args...)...)
}

func TestKeysAreMadeListedAndRevoked(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("PAWL_REDIS_URL", server.URL())
	made := typeKeys(t, "create", "--tenant", "acme", "--subject", "billing", "--role", "submit", "--note", "of the shop")
	require.Zero(t, made.code, made.err)
	text := strings.TrimSpace(made.out)
	require.Regexp(t, `^pawl_\w{12}_\w{52}$`, text, "what is printed is the key, so that a variable can take it")
	require.Contains(t, made.err, "billing in tenant acme, role submit")
	require.NotContains(t, made.err, text)
	id := text[5:17]

	var second createdKey
	made = typeKeys(t, "create", "--tenant", "*", "--subject", "duty", "--role", "operate", "--expires", "1h", "--json")
	require.Zero(t, made.code, made.err)
	require.NoError(t, json.Unmarshal([]byte(made.out), &second), made.out)
	require.Equal(t, "*", second.Tenant)
	require.InDelta(t, time.Now().Add(time.Hour).UnixMilli(), second.ExpiresAtMs, 60_000)
	require.True(t, strings.HasPrefix(second.Text, "pawl_"+second.ID+"_"))

	listed := typeKeys(t, "list")
	require.Zero(t, listed.code, listed.err)
	for _, want := range []string{id, "acme", "billing", "of the shop", "good", second.ID, "good until"} {
		require.Contains(t, listed.out, want)
	}
	require.NotContains(t, listed.out, text[18:])
	revoked := typeKeys(t, "revoke", id)
	require.Zero(t, revoked.code, revoked.err)
	require.Contains(t, revoked.out, id+" is revoked")
	revoked = typeKeys(t, "revoke", id)
	require.Zero(t, revoked.code)
	require.Contains(t, revoked.out, "already")
	listed = typeKeys(t, "list", "--json")
	lines := strings.Split(strings.TrimSpace(listed.out), "\n")
	require.Len(t, lines, 2)
	for _, line := range lines {
		var key auth.Key
		require.NoError(t, json.Unmarshal([]byte(line), &key))
		require.Equal(t, key.ID == id, key.RevokedAtMs != 0)
	}
}

func TestKeysSaysWhatIsWrong(t *testing.T) {
	server := redistest.Start(t)
	t.Setenv("PAWL_REDIS_URL", server.URL())
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"create", "--tenant", "acme", "--role", "submit"}, exitUsage, "subject"},
		{[]string{"create", "--tenant", "acme", "--subject", "a", "--role", "admin"}, exitUsage, "want submit, read or operate"},
		{[]string{"create", "--tenant", "*", "--subject", "a", "--role", "submit"}, exitUsage, "a caller of all tenants submits nothing"},
		{[]string{"create", "--tenant", "acme", "--subject", "a", "--role", "read", "--expires", "-1h"}, exitUsage, "expired already"},
		{[]string{"revoke"}, exitUsage, "requires at least 1 arg"},
		{[]string{"revoke", "abcdefghijkl"}, exitNoAnswer, "there is no key abcdefghijkl"},
		{[]string{"revoke", "pawl_abcdefghijkl_secret"}, exitUsage, "name it by its id"},
	} {
		said := typeKeys(t, c.args...)
		require.Equal(t, c.code, said.code, "%v", c.args)
		require.Contains(t, said.err, c.want, "%v", c.args)
		require.NotContains(t, said.err, "abcdefghijkl_secret")
	}
	require.Empty(t, redistest.Dump(t, server.Client(t), "pawl"), "nothing was written")
	t.Setenv("PAWL_REDIS_URL", "")
	require.Contains(t, typeKeys(t, "list").err, "PAWL_REDIS_URL is required")
	t.Setenv("PAWL_REDIS_URL", "redis://:hunter2@127.0.0.1:1")
	said := typeKeys(t, "list")
	require.Equal(t, exitNoAnswer, said.code)
	require.Contains(t, said.err, "127.0.0.1:1")
	require.NotContains(t, said.err, "hunter2")
}
