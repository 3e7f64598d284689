package execution_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/execution"
)

func TestMintedIDsCarryTheirPartition(t *testing.T) {
	t.Parallel()
	for p := execution.Partition(0); p < execution.Partitions; p++ {
		id, err := execution.ParseID(string(execution.NewID(p)))
		require.NoError(t, err)
		require.Equal(t, p, id.Partition())
		conversation, err := execution.ParseConversationID(string(execution.NewConversationID(p)))
		require.NoError(t, err)
		require.Equal(t, p, conversation.Partition())
	}
}

func TestADerivedIDDependsOnScopeAndKeyAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scope := execution.CallerScope{Tenant: rapid.String().Draw(t, "tenant"), Subject: rapid.String().Draw(t, "subject")}
		key := rapid.String().Draw(t, "key")
		p := execution.Partition(rapid.IntRange(0, execution.Partitions-1).Draw(t, "partition"))
		id := execution.DerivedID(p, scope, key)
		require.Equal(t, id, execution.DerivedID(p, scope, key))
		require.NotEqual(t, id, execution.DerivedID(p, scope, key+"x"))
		parsed, err := execution.ParseID(string(id))
		require.NoError(t, err)
		require.Equal(t, p, parsed.Partition())
	})
}

func TestMalformedIDsAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "exec_", "exec_0701", "exec_64" + strings.Repeat("0", 26), "exec_07" + strings.Repeat("u", 26), "run_07"} {
		_, err := execution.ParseID(s)
		require.ErrorIs(t, err, execution.ErrMalformedID, "%q", s)
	}
	for _, s := range []string{"", "conv_mine", "a b", strings.Repeat("x", 129), "a/b", "a{b}"} {
		_, err := execution.ParseConversationID(s)
		require.ErrorIs(t, err, execution.ErrMalformedID, "%q", s)
	}
}

func TestAClientsConversationIsHashedTheSameInEveryRelease(t *testing.T) {
	t.Parallel()
	require.Equal(t, execution.Partition(execution.HashPartition("ticket-42")), execution.ConversationID("ticket-42").Partition())
	require.Equal(t, execution.Partition(34), execution.HashPartition("ticket-42"))
}

func TestUsageSaturates(t *testing.T) {
	t.Parallel()
	huge := execution.Usage{InputTokens: 1<<63 - 1}
	require.Equal(t, huge, huge.Add(execution.Usage{InputTokens: 5}))
}
