package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// TestSample_ComesNearTheInventory holds estimates from random keys against what all keys weigh.
func TestSample_ComesNearTheInventory(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	sampler := NewSampler("pawl", 200)
	nothing, err := sampler.Sample(t.Context(), rdb)
	require.NoError(t, err)
	require.Empty(t, nothing)
	for i := range 2000 {
		require.NoError(t, rdb.HSet(t.Context(), fmt.Sprintf("pawl:{p07}:x:exec_07%d", i), "f", strings.Repeat("x", 100)).Err())
		require.NoError(t, rdb.RPush(t.Context(), fmt.Sprintf("pawl:{p07}:x:exec_07%d:events", i), strings.Repeat("x", 1000)).Err())
	}
	var estimates map[string]float64
	for range 20 {
		estimates, err = sampler.Sample(t.Context(), rdb)
		require.NoError(t, err)
	}
	lines, err := Take(t.Context(), rdb, "pawl")
	require.NoError(t, err)
	require.Len(t, lines, 2)
	require.Len(t, estimates, 2)
	for _, line := range lines {
		require.InEpsilon(t, float64(line.Bytes), estimates[line.Name], 0.25, line.Name)
	}
}
