package dashboard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestExecutionsAreGroupedByConversation(t *testing.T) {
	t.Parallel()
	rows := grouped([]execution.View{
		{ID: "five", ConversationID: "b", State: execution.Running},
		{ID: "four", ConversationID: "a", State: execution.Completed},
		{ID: "three", ConversationID: "b", State: execution.Suspended},
		{ID: "two", ConversationID: "b", State: execution.Failed},
	})
	require.Len(t, rows, 2)
	require.Equal(t, execution.ConversationID("b"), rows[0].ID)
	require.Equal(t, execution.ID("five"), rows[0].Newest.ID)
	require.Equal(t, 3, rows[0].Count)
	require.Equal(t, 2, rows[0].Open)
	require.Equal(t, 1, rows[1].Count)
	require.Zero(t, rows[1].Open)
	require.Empty(t, grouped(nil))
}
