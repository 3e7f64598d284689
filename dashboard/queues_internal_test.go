package dashboard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAQueueIsStuckWhereTasksWaitAndNobodyServesIt(t *testing.T) {
	t.Parallel()
	workers := []Worker{{Queues: []string{"default"}}, {Queues: []string{"default", "leaving"}, Draining: true}}
	rows := served([]Queue{{Name: "default", Pending: 1}, {Name: "empty"}, {Name: "leaving", Pending: 2}, {Name: "nowhere", Pending: 3}}, workers)
	require.Equal(t, []int{1, 0, 0, 0}, []int{rows[0].Workers, rows[1].Workers, rows[2].Workers, rows[3].Workers}, "one that drains takes nothing")
	found := stuck(rows)
	require.Len(t, found, 2)
	require.Equal(t, "leaving", found[0].Name)
	require.Equal(t, "nowhere", found[1].Name)
}
