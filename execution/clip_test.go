package execution_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestCaseF9_TextsOfEventsAreBounded(t *testing.T) {
	t.Parallel()
	whole := strings.Repeat("x", execution.MaxEventText)
	require.Equal(t, whole, execution.ClipEventText(whole))
	for _, text := range []string{whole + "x", strings.Repeat("é", execution.MaxEventText), "x" + strings.Repeat("語", execution.MaxEventText)} {
		got := execution.ClipEventText(text)
		require.LessOrEqual(t, len(got), execution.MaxEventText)
		require.Greater(t, len(got), execution.MaxEventText-8)
		require.True(t, utf8.ValidString(got))
		require.True(t, strings.HasPrefix(text, strings.TrimSuffix(got, "…")))
	}
}
