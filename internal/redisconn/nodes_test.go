package redisconn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
)

func TestMemory_IsWhatRedisSays(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, "--maxmemory", "64mb").Client(t)
	used, most, err := Memory(t.Context(), rdb)
	require.NoError(t, err)
	require.Positive(t, used)
	require.Equal(t, int64(64<<20), most)
}
