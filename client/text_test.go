package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

func TestATextIsPutTogetherWhateverComesTwice(t *testing.T) {
	t.Parallel()
	var text client.Text
	add := func(invocation string, offset int, piece, added string, anew bool) {
		t.Helper()
		got, again := text.Add(execution.Frame{Type: execution.FrameTextDelta, InvocationID: invocation, Offset: offset, Text: piece})
		require.Equal(t, added, got)
		require.Equal(t, anew, again)
	}
	add("inv_0", 0, "Smørbrød", "Smørbrød", false)
	add("inv_0", 8, " på", " på", false)
	add("inv_0", 0, "Smørbrød p", "", false) // a stream that was opened anew begins with the answer so far
	add("inv_0", 0, "Smørbrød på bo", " bo", false)
	add("inv_0", 12, "bord", "rd", false)
	require.Equal(t, "Smørbrød på bord", text.String())
	require.True(t, text.Whole())
	add("inv_0", 0, "Smør", "", false) // the same request again …
	add("inv_0", 4, "es", "Smøres", true)
	add("inv_1", 0, "Oslo", "Oslo", true)
	require.Equal(t, "Oslo", text.String())

	add("inv_1", 6, "it is", "…it is", false)
	require.False(t, text.Whole())
	require.Equal(t, "Oslo\ufffd\ufffdit is", text.String())
	add("inv_1", 0, "Oslo, it is", "", false)
	require.True(t, text.Whole())
	require.Equal(t, "Oslo, it is", text.String())

	got, anew := text.Add(execution.Frame{Type: execution.FrameToolProgress, Text: "half"})
	require.Empty(t, got)
	require.False(t, anew)
	var plain client.Text
	for _, piece := range []string{"a", "b"} {
		got, _ := plain.Add(execution.Frame{Type: execution.FrameTextDelta, Text: piece})
		require.Equal(t, piece, got)
	}
	require.Equal(t, "ab", plain.String())
}
