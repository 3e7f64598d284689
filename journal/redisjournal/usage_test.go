package redisjournal

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/execution"
)

func TestUsageIsStoredShort(t *testing.T) {
	t.Parallel()
	for text, usage := range map[string]execution.Usage{
		"0 0 0 0 0 0 0":         {},
		"1 2 0 0 3 5 4":         {Requests: 1, InputTokens: 2, OutputTokens: 3, TotalTokens: 5, ToolCalls: 4},
		"0 0 0 0 0 0 0 9":       {CostMicros: 9},
		"0 0 0 0 0 0 0 0 1":     {Partial: true},
		"2 0 0 0 0 0 0 0 0 1":   {Requests: 2, LostRequests: 1},
		"5 0 0 0 0 0 0 0 0 0 3": {Requests: 5, DelegatedRequests: 3},
	} {
		require.Equal(t, text, encodeUsage(usage))
	}
	for _, bad := range []string{"", "1", "0 0 0 0 0 0 x", "0 0 0 0 0 0 0 x", "0 0 0 0 0 0 0 0 1 x"} {
		_, err := decodeUsage(bad)
		require.ErrorIs(t, err, errEncoding, bad)
	}
}

func TestUsageComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		count := func(name string) int64 { return rapid.Int64Min(0).Draw(rt, name) }
		usage := execution.Usage{
			Requests: count("requests"), InputTokens: count("input"), CacheReadTokens: count("cache read"),
			CacheWriteTokens: count("cache write"), OutputTokens: count("output"), TotalTokens: count("total"),
			ToolCalls: count("calls"), CostMicros: rapid.SampledFrom([]int64{0, 7}).Draw(rt, "cost"),
			Partial: rapid.Bool().Draw(rt, "partial"), LostRequests: rapid.SampledFrom([]int64{0, 3}).Draw(rt, "lost"),
			DelegatedRequests: rapid.SampledFrom([]int64{0, 7}).Draw(rt, "delegated"),
		}
		read, err := decodeUsage(encodeUsage(usage))
		require.NoError(rt, err)
		require.Equal(rt, usage, read)
	})
}
