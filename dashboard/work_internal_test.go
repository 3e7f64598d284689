package dashboard

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheWorkOfAllWorkersIsSummedUp(t *testing.T) {
	t.Parallel()
	body := workOf([]Worker{
		{ID: "one", StartedAtMs: 2000, Work: &Work{
			SpanMs: 60_000, Steps: 1200, Started: 60, Ended: 30, Reclaims: 2, Waits: map[int64]int64{1: 90, 3: 8},
		}},
		{ID: "two", StartedAtMs: 1000, Work: &Work{SpanMs: 30_000, Steps: 300, Fenced: 1, Waits: map[int64]int64{1: 1, 1000: 1}}},
		{ID: "older", StartedAtMs: 10},
	})
	require.Equal(t, workBody{
		Tellers: 2, Silent: 1, SinceMs: 1000, Steps: thousands(1800) + " / min", Started: "60 / min", Ended: "30 / min",
		Reclaims: "2", Fenced: "1", Usual: "≤ 1 ms", Slow: "≤ 3 ms", HandOffs: "100",
	}, body)
	require.Equal(t, "0.5 / min", perMinute(0.5))
}

func TestWhatNoWorkerTellsIsADash(t *testing.T) {
	t.Parallel()
	for _, workers := range [][]Worker{nil, {{ID: "older"}}} {
		body := workOf(workers)
		require.Equal(t, workBody{
			Silent: len(workers), Steps: unknown, Started: unknown, Ended: unknown, Reclaims: unknown, Fenced: unknown, Usual: unknown,
			Slow: unknown, HandOffs: "none",
		}, body)
	}
	idle := workOf([]Worker{{ID: "one", Work: &Work{}}})
	require.Equal(t, "0 / min", idle.Steps)
	require.Equal(t, "0", idle.Reclaims)
	require.Equal(t, unknown, idle.Slow, "nothing waited")
}
