package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable_CountsWhatATerminalShows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "🙂": 2, "ａ": 2, "a\u200bb": 2} {
		require.Equal(t, want, wide(text), text)
	}
	var out strings.Builder
	tab := new(table)
	tab.row("日本語", "x", "")
	tab.row("ab", "", "y")
	require.NoError(t, tab.flush(&out))
	tab.row("c", "z", "w")
	require.NoError(t, tab.flush(&out))
	require.Equal(t, "日本語  x\nab         y\nc       z  w\n", out.String())
	require.Equal(t, "日本…", clip("日本語", 5))
	require.Equal(t, "日…", clip("日本語", 4))
	require.Equal(t, "日本語", clip("日本語", 6))
}
