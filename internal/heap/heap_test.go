package heap

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// next is how large the heap may grow before it is collected again.
func next() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.NextGC
}

func TestASmallHeapIsCollectedSeldom(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	require.Less(t, next(), uint64(floor))
	release := Floor()
	require.Greater(t, next(), uint64(2*floor))
	release()
	require.Less(t, next(), uint64(floor))
}

func TestWhoHasDecidedIsNotOverruled(t *testing.T) {
	t.Setenv("GOGC", "")
	for _, name := range []string{"GOMEMLIMIT", "GOGC"} {
		t.Setenv("GOMEMLIMIT", "")
		t.Setenv("GOGC", "")
		t.Setenv(name, "100")
		release := Floor()
		require.Less(t, next(), uint64(floor))
		release()
	}
}
