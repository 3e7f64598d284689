package execution_test

import (
	"regexp"
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
		require.Equal(t, p, conversation.Partition("acme"))
		require.Equal(t, p, conversation.Partition("another"), "whoever asks")
		require.True(t, conversation.Minted())
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
	require.Equal(t, execution.Partition(34), execution.HashPartition("ticket-42"))
	ticket := execution.ConversationID("ticket-42")
	require.Equal(t, execution.HashPartition("ticket-42/acme"), ticket.Partition("acme"))
	require.NotEqual(t, ticket.Partition("acme"), ticket.Partition("another"), "each tenant's is its own")
	require.False(t, ticket.Minted())
	require.False(t, execution.ConversationID("conv_mine").Minted())
}

func TestUsageSaturates(t *testing.T) {
	t.Parallel()
	huge := execution.Usage{InputTokens: 1<<63 - 1}
	require.Equal(t, huge, huge.Add(execution.Usage{InputTokens: 5}))
}

// The ids that are accepted are those of the patterns, character by character.
func TestIDsAreThoseOfTheirPatterns(t *testing.T) {
	t.Parallel()
	minted := regexp.MustCompile(`^exec_(0[0-9]|[1-5][0-9]|6[0-3])[0-9A-HJKMNP-TV-Z]{26}$`)
	chosen := regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	whole := string(execution.NewID(63))
	for c := range 256 {
		for _, at := range []int{0, 5, 6, 7, 20, len(whole) - 1} {
			s := whole[:at] + string([]byte{byte(c)}) + whole[at+1:]
			_, err := execution.ParseID(s)
			require.Equal(t, minted.MatchString(s), err == nil, "%q", s)
		}
		s := string([]byte{'a', byte(c)})
		_, err := execution.ParseOperationID(s)
		require.Equal(t, chosen.MatchString(s), err == nil, "%q", s)
	}
	for _, s := range []string{"", whole + "0", whole[:len(whole)-1], whole + "\n", strings.Repeat("a", 128), strings.Repeat("a", 129)} {
		_, err := execution.ParseID(s)
		require.Equal(t, minted.MatchString(s), err == nil, "%q", s)
		_, err = execution.ParseOperationID(s)
		require.Equal(t, chosen.MatchString(s), err == nil, "%q", s)
	}
}
