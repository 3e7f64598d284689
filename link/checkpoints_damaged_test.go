package link_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// A checkpoint that somebody has damaged in Redis, its times too, is shown as one that cannot be read, and hides no other one.
func TestADamagedCheckpointHidesNoOther(t *testing.T) {
	t.Parallel()
	store, prefix := storeOnRedis(t)
	rdb := redistest.Shared(t).Client(t)
	s := service(t, store)
	created, err := s.As(execution.LocalAuthority()).Create(t.Context(), "", linktest.Request("hello"))
	require.NoError(t, err)
	id := created.View.ID
	linktest.Claim(t, store, id).Warnings(4)
	keys, err := rdb.Keys(t.Context(), prefix+"*"+string(id)+":checkpoints").Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	for i, damaged := range []string{"", "5+x {}", "\x00\xff"} {
		require.NoError(t, rdb.LSet(t.Context(), keys[0], int64(i+1), damaged).Err())
	}
	for name, l := range map[string]link.RuntimeLink{
		"service": s.As(execution.LocalAuthority()), "client": overHTTP(t, s)(execution.LocalAuthority()),
	} {
		page, err := l.Checkpoints(t.Context(), id, 0, 10)
		require.NoError(t, err, name)
		require.Len(t, page.Checkpoints, 5, name)
		for step, one := range page.Checkpoints {
			require.EqualValues(t, step, one.Step)
			if step > 0 && step < 4 {
				require.Equal(t, execution.Checkpoint{Step: execution.Step(step), Evidence: json.RawMessage("null")}, one, name)
			} else {
				require.NotZero(t, one.CommittedAtMs)
			}
		}
	}
}
