package execution_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestAmountsAreReadExactlyAndRoundedUp(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "2.5": 2_500_000, "0.50": 500_000, "0.0000001": 1, "0.1": 100_000, "9223372036854": 9_223_372_036_854_000_000,
	} {
		got, err := execution.ParseMicros(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "1e3", ".5", "1.", "1,5", "9999999999999999", "NaN", "0x1", " 1"} {
		_, err := execution.ParseMicros(text)
		require.ErrorIs(t, err, execution.ErrAmount, text)
	}
}

func TestLimitsGoOverOthersFieldByField(t *testing.T) {
	t.Parallel()
	base := execution.Limits{MaxTurns: 3, MaxCost: 7, Deadline: 5, SuspendOnExceeded: true}
	require.Equal(t, base, execution.Limits{}.Over(base))
	require.Equal(t, execution.Limits{MaxTurns: 9, MaxToolCalls: 2, MaxCost: 7, Deadline: 5, SuspendOnExceeded: true},
		execution.Limits{MaxTurns: 9, MaxToolCalls: 2}.Over(base))
}
