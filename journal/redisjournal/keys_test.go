package redisjournal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestKeysOfAPartitionShareItsHashTag(t *testing.T) {
	t.Parallel()
	k := keyspace{prefix: "pawl"}
	id := execution.ID("exec_0700000000000000000000000000")
	keys := k.execution(id)
	require.Len(t, keys, executionKeys)
	require.Equal(t, "pawl:{p07}:x:exec_0700000000000000000000000000", keys[keyRow])
	require.Equal(t, keys[keyRow]+":events", keys[keyEvents])
	require.Equal(t, keys[keyRow]+":checkpoints", keys[keyCheckpoints])
	require.Equal(t, keys[keyRow]+":tools", keys[keyTools])
	require.Equal(t, keys[keyRow]+":inbox", keys[keyInbox])
	require.Equal(t, "pawl:{p07}:due", keys[keyDue])
	conversation := talk{"t", execution.NewConversationID(7)}
	for _, key := range append(keys, k.conversation(conversation), k.messages(conversation), k.waiting(conversation),
		k.caller(7, execution.LocalCaller(), ""), k.tenant(7, "t", execution.Failed), k.executions(conversation), k.cleanup(7), k.lock(7), k.index(7, "purge"), k.named(7),
		k.member(7, string(id)), k.member(7, "idem:x")) {
		require.True(t, strings.HasPrefix(key, "pawl:{p07}:"), key)
		require.Equal(t, 1, strings.Count(key, "{"), key)
	}
}

func TestAnIdempotencyKeyIsScopedByCaller(t *testing.T) {
	t.Parallel()
	k := keyspace{prefix: "pawl"}
	a := execution.CallerScope{Tenant: "t", Subject: "a"}
	b := execution.CallerScope{Tenant: "t", Subject: "b"}
	require.NotEqual(t, k.idempotency(a, "key"), k.idempotency(b, "key"))
	require.Equal(t, k.partition(execution.KeyPartition(a, "key"))+keyMember(a, "key"), k.idempotency(a, "key"))
}

func TestHostileNamesStayInsideTheirKey(t *testing.T) {
	t.Parallel()
	k := keyspace{prefix: "pawl"}
	caller := execution.CallerScope{Tenant: "{p99}:due", Subject: "\x1f{}"}
	require.Equal(t, 1, strings.Count(k.idempotency(caller, "{p00}"), "{"))
	for _, key := range []string{k.caller(3, caller, ""), k.tenant(3, caller.Tenant, "")} {
		require.True(t, strings.HasPrefix(key, "pawl:{p03}:"), "the first braces are the hash tag: %s", key)
	}
	tenant, subject := execution.CallerScope{Tenant: "a:b", Subject: "c"}, execution.CallerScope{Tenant: "a", Subject: "b:c"}
	require.NotEqual(t, k.caller(3, tenant, ""), k.caller(3, subject, ""))
}

func TestAPrefixThatWouldBreakTheHashTagIsRefused(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"a{b}", "a b", "a*", strings.Repeat("a", 65)} {
		_, err := (Config{Prefix: prefix}).withDefaults()
		require.ErrorContains(t, err, "Prefix")
	}
}
