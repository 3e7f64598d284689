package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestAReaderThatIsTooSlowLosesItsQueue(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"by items": 1, "by bytes": maxQueuedBytes / 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue()
			for range 2 * maxQueuedItems {
				q.push(execution.StreamItem{Frame: &execution.Frame{}}, size)
				require.LessOrEqual(t, len(q.items), maxQueuedItems)
				require.LessOrEqual(t, q.bytes, maxQueuedBytes)
			}
			_, ok, err := q.take()
			require.False(t, ok)
			require.ErrorIs(t, err, execution.ErrOverloaded)
			require.Empty(t, q.items)
		})
	}
	q := newQueue()
	q.push(execution.StreamItem{}, 2*maxQueuedBytes)
	_, ok, err := q.take()
	require.True(t, ok, "one item may be as large as it is")
	require.NoError(t, err)
	require.Zero(t, q.bytes)
}

func TestCallersAreRememberedForAWhile(t *testing.T) {
	t.Parallel()
	var known callers
	caller := execution.CallerScope{Tenant: "acme", Subject: "ann"}
	first := execution.NewID(1)
	known.put(first, caller)
	for range 3 * maxCallers {
		known.put(execution.NewID(2), execution.LocalCaller())
		got, ok := known.get(first)
		require.True(t, ok, "who is asked for stays")
		require.Equal(t, caller, got)
		require.LessOrEqual(t, len(known.young)+len(known.old), 2*maxCallers)
	}
}
