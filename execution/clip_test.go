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
		require.LessOrEqual(t, len(execution.ClipRetryText(text)), execution.MaxRetryText)
		require.True(t, strings.HasSuffix(execution.ClipRetryText(text), "…"))
	}
}

func TestALongDetailIsCutInItsMiddle(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"x", "é", "語"} {
		detail := execution.NewAPIError(execution.InvalidRequest, "is no schema: %s: and why", strings.Repeat(filler, 50_000)).Detail
		require.LessOrEqual(t, len(detail), 2<<10)
		require.Greater(t, len(detail), 2000)
		require.True(t, utf8.ValidString(detail))
		require.True(t, strings.HasPrefix(detail, "is no schema: "))
		require.True(t, strings.HasSuffix(detail, ": and why"))
	}
	short := strings.Repeat("x", 2<<10)
	require.Equal(t, short, execution.NewAPIError(execution.Conflict, "%s", short).Detail)
}
